/* Two ranks that talk over a socket, as a collective does: argv[2] round trips; after them each
 * writes one file of its own.
 *
 * argv[3], what a rank does when its peer is gone: "fails" (status 7) or "waits" for ever. */

#include <signal.h>

#include "peers.h"

static const char* on_loss;

static void PeerIsGone(void) {
  if (strcmp(on_loss, "waits") == 0) {
    for (;;) {
      pause();
    }
  }
  exit(7);
}

static void Exchange(int peer, int rank) {
  char byte = 'x';
  for (int i = 0; i < 2; ++i) {
    const int sends = (i == 0) == (rank == 0);
    if (sends ? write(peer, &byte, 1) != 1 : read(peer, &byte, 1) != 1) {
      PeerIsGone();
    }
  }
}

int main(int argc, char** argv) {
  Must(argc == 4, "usage: pair FOLDER ROUNDS fails|waits");
  on_loss = argv[3];
  signal(SIGPIPE, SIG_IGN);
  const int rank = Rank();
  const int peer = JoinPeer();
  Record("ready", 0);
  for (int i = 0; i < atoi(argv[2]); ++i) {
    Exchange(peer, rank);
  }
  Record("step", 1);
  char name[16];
  snprintf(name, sizeof(name), "rank-%d", rank);
  const int file = Create(argv[1], name);
  Write(file, "mine");
  close(file);
  Exchange(peer, rank);
  return 0;
}
