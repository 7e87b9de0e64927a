/* Four threads write at once: each 25 records of 64 bytes into a file of its own, and each appends
 * the same to one common file and writes it to the same place of another. With argv[2], one thread
 * writes blocks of 1 MiB from a buffer that a second one changes all the time, as a save does that
 * runs beside the training. */

#include <pthread.h>

#include "victim.h"

enum { kThreads = 4, kRounds = 25, kBytes = 64 };

static const char* folder;
static int common;
static int same_place;

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
    Must(pwrite(same_place, bytes, kBytes - (size_t)number, number) == kBytes - number, "pwrite");
  }
  close(own);
  return NULL;
}

static char buffer[1 << 20];
static volatile int is_done;

static void* Change(void* unused) {
  for (unsigned char value = 0; !is_done; ++value) {
    memset(buffer, value, sizeof(buffer));
  }
  return unused;
}

static void WriteWhatChanges(void) {
  pthread_t thread;
  const int file = Create(folder, "changing");
  Must(pthread_create(&thread, NULL, Change, NULL) == 0, "pthread_create");
  for (int i = 0; i < 8; ++i) {
    Must(write(file, buffer, sizeof(buffer)) == sizeof(buffer), "write");
  }
  is_done = 1;
  pthread_join(thread, NULL);
}

int main(int argc, char** argv) {
  Must(argc == 2 || argc == 3, "usage: threads_write FOLDER [changing]");
  folder = argv[1];
  if (argc == 3) {
    WriteWhatChanges();
    return 0;
  }
  same_place = Create(folder, "same place");
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
