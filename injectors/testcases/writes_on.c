/* Two ranks. Rank 0 leaves a daemon behind, which appends to "daemon" for ever, and exits; rank 1
 * waits until rank 0 is gone and the daemon has written more, and exits too. */

#include <errno.h>
#include <signal.h>

#include "victim.h"

static void Daemon(const char* path) {
  const int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
  Must(file >= 0, path);
  for (;;) {
    Write(file, "on and on ");
    usleep(1000);
  }
}

static void Detach(const char* path) {
  if (fork() != 0) {
    return;
  }
  setsid();
  if (fork() != 0) {
    _exit(0);
  }
  Daemon(path);
}

static off_t SizeOf(const char* path) {
  struct stat info;
  return stat(path, &info) == 0 ? info.st_size : 0;
}

static void AwaitSize(const char* path, off_t size) {
  while (SizeOf(path) < size) {
    usleep(1000);
  }
}

int main(int argc, char** argv) {
  Must(argc == 2, "usage: writes_on FOLDER");
  const char* const path = In(argv[1], "daemon");
  const char* const mark = In(argv[1], "rank 0");
  if (Rank() == 0) {
    Detach(path);
    AwaitSize(path, 1);
    const pid_t own = getpid();
    const int file = Create(argv[1], "rank 0");
    Must(write(file, &own, sizeof(own)) == sizeof(own), "write");
    return 0;
  }
  pid_t other = 0;
  AwaitSize(mark, sizeof(other));
  const int file = open(mark, O_RDONLY);
  Must(read(file, &other, sizeof(other)) == sizeof(other), "read");
  while (kill(other, 0) == 0 || errno != ESRCH) {
    usleep(1000);
  }
  AwaitSize(path, SizeOf(path) + 50);
  return 0;
}
