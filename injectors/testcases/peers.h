/* Two ranks that are connected by a TCP socket, as the ranks of a collective are. */

#ifndef REPRISE_INJECTORS_TESTCASES_PEERS_H_
#define REPRISE_INJECTORS_TESTCASES_PEERS_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "victim.h"

static inline struct sockaddr_in MasterAddress(void) {
  struct sockaddr_in address = {0};
  address.sin_family = AF_INET;
  address.sin_port = htons((unsigned short)atoi(getenv("MASTER_PORT")));
  Must(inet_aton(getenv("MASTER_ADDR"), &address.sin_addr) != 0, "MASTER_ADDR");
  return address;
}

static inline int AcceptPeer(void) {
  const struct sockaddr_in address = MasterAddress();
  const int on = 1;
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  Must(bind(listener, (const struct sockaddr*)&address, sizeof(address)) == 0, "bind");
  Must(listen(listener, 1) == 0, "listen");
  return accept(listener, NULL, NULL);
}

static inline int ConnectToPeer(void) {
  const struct sockaddr_in address = MasterAddress();
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

/* The socket between ranks 0 and 1. */
static inline int JoinPeer(void) {
  const int peer = Rank() == 0 ? AcceptPeer() : ConnectToPeer();
  Must(peer >= 0, "connection");
  return peer;
}

#endif /* REPRISE_INJECTORS_TESTCASES_PEERS_H_ */
