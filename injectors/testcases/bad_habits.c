/* What a target may do to its machine: argv[2] is one of
 *
 *   fills    writes to the checkpoint folder until there is no room (argv[3] bytes, where the
 * folder itself has no limit), says so, and ends with status 7 leaks    opens a file of the
 * checkpoint folder until no descriptor is left, then ends with 0 eats     asks for memory until
 * its own limit stops it, then ends with status 8 zombies  leaves forty ended children that nobody
 * waited for, then ends with 0 mumbles  writes one logbook line of 64 MiB, then a record, then ends
 * with 0 */

#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "victim.h"

static void Limit(int resource, rlim_t value) {
  const struct rlimit limit = {value, value};
  Must(setrlimit(resource, &limit) == 0, "setrlimit");
}

static int Fills(const char* folder, const char* bytes) {
  static const char piece[3000];
  signal(SIGXFSZ, SIG_IGN);
  if (atoi(bytes) > 0) {
    Limit(RLIMIT_FSIZE, (rlim_t)atoi(bytes));
  }
  const int file = Create(folder, "shard");
  for (int i = 0; i < 1000; ++i) {
    if (write(file, piece, sizeof(piece)) < 0) {
      perror("save");
      return 7;
    }
  }
  return 0;
}

static int Leaks(const char* folder) {
  Limit(RLIMIT_NOFILE, 800);
  int count = 0;
  while (open(In(folder, "shard"), O_WRONLY | O_CREAT, 0644) >= 0) {
    ++count;
  }
  return count > 700 ? 0 : 9; /* some may be inherited */
}

static int Eats(void) {
  Limit(RLIMIT_AS, 256UL << 20U);
  for (;;) {
    if (mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) ==
        MAP_FAILED) {
      perror("no memory");
      return 8;
    }
  }
}

static int Zombies(void) {
  for (int i = 0; i < 40; ++i) {
    if (fork() == 0) {
      _exit(3);
    }
  }
  return 0;
}

static int Mumbles(void) {
  static char line[64 << 20];
  memset(line, 'x', sizeof(line));
  line[sizeof(line) - 1] = '\n';
  const int file = Create(getenv("REPRISE_LOGBOOK"), "rank-0.jsonl");
  Must(write(file, line, sizeof(line)) == (ssize_t)sizeof(line), "write");
  close(file);
  Record("step", 1);
  return 0;
}

int main(int argc, char** argv) {
  Must(argc == 4, "usage: bad_habits FOLDER fills|leaks|eats|zombies|mumbles BYTES");
  if (strcmp(argv[2], "fills") == 0) {
    return Fills(argv[1], argv[3]);
  }
  if (strcmp(argv[2], "leaks") == 0) {
    return Leaks(argv[1]);
  }
  if (strcmp(argv[2], "eats") == 0) {
    return Eats();
  }
  return strcmp(argv[2], "zombies") == 0 ? Zombies() : Mumbles();
}
