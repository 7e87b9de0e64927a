/* Ends at once: argv[2] is its exit status, or "abort" or "segv". */

#include <signal.h>

#include "victim.h"

int main(int argc, char** argv) {
  Must(argc == 3, "usage: ends FOLDER STATUS|abort|segv");
  fputs("about to end", stderr);
  if (strcmp(argv[2], "abort") == 0) {
    abort();
  }
  if (strcmp(argv[2], "segv") == 0) {
    raise(SIGSEGV);
  }
  return atoi(argv[2]);
}
