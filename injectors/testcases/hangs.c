/* Waits for ever without using the CPU: argv[2] "pause", or "stop" for a process that stops itself.
 */

#include <signal.h>

#include "victim.h"

int main(int argc, char** argv) {
  Must(argc == 3, "usage: hangs FOLDER pause|stop");
  Record("ready", 0);
  if (strcmp(argv[2], "stop") == 0) {
    raise(SIGSTOP);
  }
  for (;;) {
    pause();
  }
}
