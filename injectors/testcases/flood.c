/* Writes argv[2] MiB of zero bytes to standard output in pieces of 1 MiB, then one line to standard
 * error. */

#include "victim.h"

int main(int argc, char** argv) {
  Must(argc == 3, "usage: flood FOLDER MIB");
  static char bytes[1 << 20];
  for (int i = 0; i < atoi(argv[2]); ++i) {
    Must(write(1, bytes, sizeof(bytes)) == (ssize_t)sizeof(bytes), "write");
  }
  fputs("done\n", stderr);
  return 0;
}
