/* Two ranks that talk over a socket, as a collective does: argv[2] round trips; after them each
 * writes one file of its own.
 *
 * argv[3], what a rank does when its peer is gone: "fails" (status 7) or "waits" for ever. */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include "victim.h"

static const char* on_loss;

static void PeerIsGone(void) {
  if (strcmp(on_loss, "waits") == 0) {
    for (;;) {
      pause();
    }
  }
  exit(7);
}

static struct sockaddr_in Address(void) {
  struct sockaddr_in address = {0};
  address.sin_family = AF_INET;
  address.sin_port = htons((unsigned short)atoi(getenv("MASTER_PORT")));
  Must(inet_aton(getenv("MASTER_ADDR"), &address.sin_addr) != 0, "MASTER_ADDR");
  return address;
}

static int Accept(void) {
  const struct sockaddr_in address = Address();
  const int on = 1;
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  Must(bind(listener, (const struct sockaddr*)&address, sizeof(address)) == 0, "bind");
  Must(listen(listener, 1) == 0, "listen");
  return accept(listener, NULL, NULL);
}

static int Connect(void) {
  const struct sockaddr_in address = Address();
  for (int i = 0; i < 1000; ++i) {
    const int peer = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(peer, (const struct sockaddr*)&address, sizeof(address)) == 0) {
      return peer;
    }
    close(peer);
    usleep(5000);
  }
  return -1;
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
  const int peer = rank == 0 ? Accept() : Connect();
  Must(peer >= 0, "connection");
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
