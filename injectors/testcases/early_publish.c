/* Two ranks save one checkpoint: each writes its shard, and rank 0 publishes.
 *
 * argv[2], how rank 0 waits for rank 1's shard: "barrier" for as long as it takes; "impatient" for
 * argv[3] milliseconds, after which it publishes all the same. That is the planted fault: as long
 * as rank 1 is in time, no order of operations shows it. */

#include <poll.h>

#include "peers.h"

static void WriteShard(const char* folder, int rank) {
  char name[16];
  snprintf(name, sizeof(name), "shard-%d", rank);
  const int file = Create(folder, name);
  Write(file, "values");
  Must(fsync(file) == 0, "fsync");
  close(file);
}

static void Publish(const char* folder) {
  const int file = Create(folder, "latest.tmp");
  Write(file, "step-1");
  close(file);
  Must(rename(In(folder, "latest.tmp"), In(folder, "latest")) == 0, "rename");
}

int main(int argc, char** argv) {
  Must(argc == 4, "usage: early_publish FOLDER barrier|impatient MILLISECONDS");
  const int rank = Rank();
  const int peer = JoinPeer();
  Record("step", 1);
  WriteShard(argv[1], rank);
  char byte = 'x';
  if (rank == 1) {
    Must(write(peer, &byte, 1) == 1, "write");
  } else {
    struct pollfd wait = {.fd = peer, .events = POLLIN};
    poll(&wait, 1, strcmp(argv[2], "barrier") == 0 ? -1 : atoi(argv[3]));
    Publish(argv[1]);
  }
  Record("step", 2);
  return 0;
}
