/* Leaves processes behind: a grandchild in a session of its own that ignores every signal it can,
 * and one that has stopped itself. The victim itself exits at once with status 5, or, with argv[2]
 * "stay", never. */

#include <signal.h>

#include "victim.h"

static void IgnoreSignals(void) {
  for (int number = 1; number < NSIG; ++number) {
    signal(number, SIG_IGN);
  }
}

static void Detach(int stops) {
  if (fork() != 0) {
    return;
  }
  setsid();
  if (fork() != 0) {
    _exit(0);
  }
  IgnoreSignals();
  setpgid(0, 0);
  if (stops) {
    raise(SIGSTOP);
  }
  for (;;) {
    pause();
  }
}

int main(int argc, char** argv) {
  (void)argv;
  Must(argc >= 2, "usage: daemon FOLDER [stay]");
  Detach(0);
  Detach(1);
  usleep(50 * 1000); /* lets both get going */
  Record("ready", 0);
  if (argc == 3) {
    IgnoreSignals();
    for (;;) {
      pause();
    }
  }
  return 5;
}
