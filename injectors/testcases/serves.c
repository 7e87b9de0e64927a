/* Takes part in the fork-server protocol. A life writes what it was given into the folder: argv[2],
 * the variable WORD, its working folder, and exits with status argv[3]. "crash" as argv[2] ends the
 * server's child by a signal. */

#include <signal.h>

#include "probes/c/fork_server.h"
#include "victim.h"

static int warm = 0;

static void WarmUp(void) { warm = 1; }

static int Train(int argc, char** argv) {
  Must(argc == 4, "usage: serves FOLDER WORD STATUS");
  Record("ready", 0);
  if (strcmp(argv[2], "crash") == 0) {
    raise(SIGKILL);
  }
  char line[8192];
  char folder[4096];
  Must(getcwd(folder, sizeof(folder)) != NULL, "getcwd");
  const char* const word = getenv("WORD");
  snprintf(line, sizeof(line), "%s %s %s %s", argv[2], word == NULL ? "-" : word, folder,
           warm ? "warm" : "cold");
  char name[32];
  snprintf(name, sizeof(name), "rank-%d", Rank());
  const int file = Create(argv[1], name);
  Write(file, line);
  close(file);
  puts(line);
  return atoi(argv[3]);
}

int main(int argc, char** argv) { return reprise_run_main(argc, argv, Train, WarmUp); }
