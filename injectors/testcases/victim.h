/* What the tiny victims of this folder share: paths, a logbook of records, and calls that must
 * work.
 *
 * Each victim makes a known list of file operations, which the tests of harness/process compare
 * with what the tracer saw. argv[1] of a victim is its checkpoint folder. */

#ifndef REPRISE_INJECTORS_TESTCASES_VICTIM_H_
#define REPRISE_INJECTORS_TESTCASES_VICTIM_H_

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static inline void Must(int ok, const char* what) {
  if (!ok) {
    perror(what);
    exit(99);
  }
}

/* "folder/name", in one of four static buffers that are used in turn. */
static inline const char* In(const char* folder, const char* name) {
  static char buffers[4][4096];
  static int next;
  char* const path = buffers[next++ % 4];
  snprintf(path, sizeof(buffers[0]), "%s/%s", folder, name);
  return path;
}

static inline int Rank(void) {
  const char* const rank = getenv("RANK");
  return rank == NULL ? 0 : atoi(rank);
}

/* Appends a record with one write. */
static inline void Record(const char* type, int step) {
  static int logbook = -1;
  char line[256];
  if (logbook < 0) {
    snprintf(line, sizeof(line), "rank-%d.jsonl", Rank());
    logbook =
        open(In(getenv("REPRISE_LOGBOOK"), line), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    Must(logbook >= 0, "logbook");
  }
  const char* const more =
      strcmp(type, "step") == 0
          ? ",\"loss\":\"f32:3f800000\",\"learning_rate\":[],\"weight_decay\":[]"
          : "";
  const int length =
      snprintf(line, sizeof(line), "{\"t\":\"%s\",\"step\":%d%s}\n", type, step, more);
  Must(write(logbook, line, (size_t)length) == length, "record");
}

static inline int Create(const char* folder, const char* name) {
  const int file = open(In(folder, name), O_RDWR | O_CREAT | O_TRUNC, 0644);
  Must(file >= 0, name);
  return file;
}

static inline void Write(int file, const char* text) {
  const ssize_t length = (ssize_t)strlen(text);
  Must(write(file, text, (size_t)length) == length, "write");
}

#endif /* REPRISE_INJECTORS_TESTCASES_VICTIM_H_ */
