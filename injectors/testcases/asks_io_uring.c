/* Tries io_uring first, as libuv does, and falls back to write. */

#include <errno.h>
#include <sys/syscall.h>

#include "victim.h"

int main(int argc, char** argv) {
  Must(argc == 2, "usage: asks_io_uring FOLDER");
  char parameters[256] = {0};
  const long ring = syscall(SYS_io_uring_setup, 4, parameters);
  Must(ring < 0 && errno == ENOSYS, "io_uring_setup must be denied with ENOSYS");
  const int file = Create(argv[1], "file");
  Write(file, "fallback");
  close(file);
  return 0;
}
