/* Makes a folder by a call of 32-bit code and by one of x32 code; both must be denied. Then in the
 * usual way. Status 77: this kernel has no 32-bit calls. */

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "victim.h"

enum { kMkdir32 = 39, kX32Bit = 0x40000000 };

static void OnFault(int signal_number) {
  (void)signal_number;
  _exit(77);
}

/* Arguments of 32-bit calls lie in the lowest 4 GiB. */
static long MakeFolder32(const char* path) {
  char* const low =
      mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
  Must(low != MAP_FAILED, "MAP_32BIT");
  snprintf(low, 4096, "%s", path);
  long result = kMkdir32;
  __asm__ volatile("int $0x80" : "+a"(result) : "b"(low), "c"(0755) : "memory");
  return result;
}

int main(int argc, char** argv) {
  Must(argc == 2, "usage: foreign_calls FOLDER");
  signal(SIGSEGV, OnFault);
  Must(MakeFolder32(In(argv[1], "32-bit")) == -ENOSYS, "a 32-bit call must be denied");
  Must(syscall(kX32Bit + SYS_mkdir, In(argv[1], "x32"), 0755) < 0 && errno == ENOSYS,
       "an x32 call must be denied");
  Must(mkdir(In(argv[1], "usual"), 0755) == 0, "mkdir");
  return 0;
}
