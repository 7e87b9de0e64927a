/* Four threads write at once: each 25 records of 64 bytes into a file of its own, and each appends
 * the same to one common file. */

#include <pthread.h>

#include "victim.h"

enum { kThreads = 4, kRounds = 25, kBytes = 64 };

static const char* folder;
static int common;

static void* Run(void* argument) {
  const int number = *(const int*)argument;
  char name[16];
  char bytes[kBytes + 1] = {0};
  snprintf(name, sizeof(name), "own-%d", number);
  /* Not In(): its buffers are shared. */
  char path[4096];
  snprintf(path, sizeof(path), "%s/%s", folder, name);
  const int own = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  Must(own >= 0, "open");
  for (int round = 0; round < kRounds; ++round) {
    memset(bytes, 'a' + (number * kRounds + round) % 26, kBytes);
    Write(own, bytes);
    Write(common, bytes);
  }
  close(own);
  return NULL;
}

int main(int argc, char** argv) {
  Must(argc == 2, "usage: threads_write FOLDER");
  folder = argv[1];
  common = open(In(folder, "common"), O_WRONLY | O_CREAT | O_APPEND, 0644);
  pthread_t threads[kThreads];
  int numbers[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    numbers[i] = i;
    Must(pthread_create(&threads[i], NULL, Run, &numbers[i]) == 0, "pthread_create");
  }
  for (int i = 0; i < kThreads; ++i) {
    pthread_join(threads[i], NULL);
  }
  return 0;
}
