/* One of each: appends, truncations, allocation, links, attributes, copies between files, a failing
 * call, a file that is written after its name is gone, a shared mapping. */

#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

#include "victim.h"

static void ChangeSizes(const char* folder) {
  const int file = Create(folder, "sizes");
  Write(file, "0123456789");
  Must(ftruncate(file, 4) == 0, "ftruncate");
  Must(fallocate(file, 0, 2, 6) == 0, "fallocate");
  Must(truncate(In(folder, "sizes"), 7) == 0, "truncate");
  Must(fdatasync(file) == 0, "fdatasync");
  Must(sync_file_range(file, 0, 4, SYNC_FILE_RANGE_WRITE) == 0, "sync_file_range");
  Must(fchmod(file, 0600) == 0, "fchmod");
  close(file);
}

static void Append(const char* folder) {
  const int file = open(In(folder, "log"), O_WRONLY | O_CREAT | O_APPEND, 0644);
  Write(file, "one");
  Must(pwrite(file, "two", 3, 0) == 3, "pwrite"); /* appends all the same: pwrite(2), BUGS */
  const struct iovec part = {(void*)"three", 5};
  Must(pwritev2(file, &part, 1, -1, 0) == 5, "pwritev2");
  close(file);
}

static void Copy(const char* folder) {
  const int from = open(In(folder, "log"), O_RDONLY);
  const int to = Create(folder, "copy");
  Must(sendfile(to, from, NULL, 6) == 6, "sendfile");
  loff_t in = 0;
  loff_t out = 2;
  Must(copy_file_range(from, &in, to, &out, 3, 0) == 3, "copy_file_range");
  close(from);
  close(to);
}

static void ChangeNames(const char* folder) {
  Must(link(In(folder, "copy"), In(folder, "other name")) == 0, "link");
  Must(symlink("copy", In(folder, "pointer")) == 0, "symlink");
  Must(rename(In(folder, "copy"), In(folder, "moved")) == 0, "rename");
  Must(unlink(In(folder, "pointer")) == 0, "unlink");
  Must(mkdir(In(folder, "folder"), 0700) == 0, "mkdir");
  Must(rename(In(folder, "moved"), In(folder, "folder/moved")) == 0, "rename");
  Must(mkdir(In(folder, "folder"), 0700) != 0, "mkdir of a folder that exists must fail");
}

static void WriteNameless(const char* folder) {
  const int file = Create(folder, "nameless");
  Must(unlink(In(folder, "nameless")) == 0, "unlink");
  Write(file, "lost");
  close(file);
}

static void Map(const char* folder) {
  const int file = Create(folder, "mapped");
  Write(file, "mapped");
  char* const bytes = mmap(NULL, 6, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  Must(bytes != MAP_FAILED, "mmap");
  bytes[0] = 'M';
  munmap(bytes, 6);
  close(file);
}

int main(int argc, char** argv) {
  Must(argc == 2, "usage: every_operation FOLDER");
  ChangeSizes(argv[1]);
  Append(argv[1]);
  Copy(argv[1]);
  ChangeNames(argv[1]);
  WriteNameless(argv[1]);
  Map(argv[1]);
  return 0;
}
