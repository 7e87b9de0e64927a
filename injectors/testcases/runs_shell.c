/* Starts a shell that writes into the folder: fork, exec, and descriptors that cross both. */

#include <sys/wait.h>

#include "victim.h"

int main(int argc, char** argv) {
  Must(argc == 2, "usage: runs_shell FOLDER");
  Must(chdir(argv[1]) == 0, "chdir");
  const int inherited = Create(".", "inherited");
  char script[128];
  snprintf(script, sizeof(script), "echo one > a; echo two >> a; mv a b; echo three >&%d",
           inherited > 9 ? 9 : inherited);
  const pid_t child = fork();
  if (child == 0) {
    Must(dup2(inherited, 9) == 9, "dup2");
    execl("/bin/sh", "sh", "-c", script, (char*)NULL);
    _exit(98);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}
