/* Puts descriptors of the folder's files at low numbers of its own choice, as shells do, and writes
 * through them: to 1, to 7, to what dup and fcntl give, and in a child that inherits 7. */

#include <sys/wait.h>

#include "victim.h"

static void WriteToStandardOutput(const char* folder) {
  const int saved = dup(1);
  const int file = Create(folder, "redirected");
  Must(dup2(file, 1) == 1, "dup2");
  close(file);
  Write(1, "to one");
  Must(dup2(saved, 1) == 1, "dup2");
  close(saved);
}

int main(int argc, char** argv) {
  Must(argc == 2, "usage: redirects FOLDER");
  WriteToStandardOutput(argv[1]);
  const int file = Create(argv[1], "low");
  const int second = dup(file);
  Write(second, "dup");
  const int third = fcntl(file, F_DUPFD, 10);
  Write(third, "fcntl");
  Must(dup2(file, 7) == 7, "dup2");
  Write(7, "seven");
  const pid_t child = fork();
  if (child == 0) {
    Write(7, "child");
    _exit(0);
  }
  waitpid(child, NULL, 0);
  puts("printed");
  return 0;
}
