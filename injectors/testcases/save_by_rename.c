/* A small training: three steps, a save after each, one checkpoint kept.
 *
 * Per save: mkdir, open, write, pwrite64, writev, fsync, open of the pointer, write, fsync, rename
 * of the pointer, fsync of the folder; from the second save on unlink and rmdir of the older one.
 */

#include <sys/uio.h>

#include "victim.h"

static void WriteShard(const char* folder) {
  const int file = Create(folder, "shard");
  Write(file, "0123456789");
  Must(pwrite(file, "abc", 3, 4) == 3, "pwrite");
  const struct iovec parts[] = {{(void*)"first,", 6}, {(void*)"second", 6}};
  Must(writev(file, parts, 2) == 12, "writev");
  Must(fsync(file) == 0, "fsync");
  close(file);
}

static void Publish(const char* folder, const char* name) {
  const int file = Create(folder, "latest.tmp");
  Write(file, name);
  Must(fsync(file) == 0, "fsync");
  close(file);
  Must(rename(In(folder, "latest.tmp"), In(folder, "latest")) == 0, "rename");
  const int directory = open(folder, O_RDONLY | O_DIRECTORY);
  Must(fsync(directory) == 0, "fsync of the folder");
  close(directory);
}

static void Remove(const char* folder, const char* name) {
  char shard[64];
  snprintf(shard, sizeof(shard), "%s/shard", name);
  Must(unlink(In(folder, shard)) == 0, "unlink");
  Must(rmdir(In(folder, name)) == 0, "rmdir");
}

int main(int argc, char** argv) {
  Must(argc == 2, "usage: save_by_rename FOLDER");
  Record("ready", 0);
  for (int step = 1; step <= 3; ++step) {
    char name[32];
    char older[32];
    Record("step", step);
    snprintf(name, sizeof(name), "step-%d", step);
    snprintf(older, sizeof(older), "step-%d", step - 1);
    Must(mkdir(In(argv[1], name), 0755) == 0, "mkdir");
    WriteShard(In(argv[1], name));
    Publish(argv[1], name);
    if (step > 1) {
      Remove(argv[1], older);
    }
    printf("saved step %d\n", step);
    fflush(stdout);
  }
  return 0;
}
