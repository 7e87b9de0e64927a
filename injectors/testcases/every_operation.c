/* Makes every file operation that the tracer watches, by the raw calls: the C library would make
 * others in their place. argv[2] names one group of them; without it all are made. The tests know
 * the list of each group.
 *
 * What the kernel or file system may refuse (O_DIRECT aside) may fail; it is recorded all the same.
 */

#include <errno.h>
#include <linux/aio_abi.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "victim.h"

static const char* folder;

static const char* F(const char* name) { return In(folder, name); }

/* The call must work. */
#define DO(...) Must(syscall(__VA_ARGS__) >= 0, #__VA_ARGS__)
/* The call may fail. */
#define TRY(...) ((void)syscall(__VA_ARGS__))

static int OpenFolder(void) {
  const int file = open(folder, O_RDONLY | O_DIRECTORY);
  Must(file >= 0, folder);
  return file;
}

static void Opens(void) {
  const int at = OpenFolder();
  struct open_how how = {.flags = O_WRONLY | O_CREAT | O_EXCL, .mode = 0644};
  close((int)syscall(SYS_open, F("opened"), O_RDWR | O_CREAT, 0644));
  close((int)syscall(SYS_creat, F("opened"), 0644));
  close((int)syscall(SYS_openat, at, "opened", O_WRONLY));
  close((int)syscall(SYS_openat, at, "opened", O_RDONLY | O_TRUNC));
  close((int)syscall(SYS_openat, at, "opened", O_RDONLY)); /* not an operation */
  close((int)syscall(SYS_openat2, at, "exclusive", &how, sizeof(how)));
  TRY(SYS_openat2, at, "exclusive", &how, sizeof(how));
  DO(SYS_mknod, F("node"), S_IFREG | 0644, 0);
  DO(SYS_mknodat, at, "node at", S_IFREG | 0600, 0);
  const int unnamed = open(folder, O_RDWR | O_TMPFILE, 0644);
  Must(unnamed >= 0, "O_TMPFILE");
  Write(unnamed, "un");
  char link[64];
  snprintf(link, sizeof(link), "/proc/self/fd/%d", unnamed);
  DO(SYS_linkat, AT_FDCWD, link, at, "named", AT_SYMLINK_FOLLOW);
  Write(unnamed, "named");
  close(unnamed);
  close(at);
}

static void Writes(void) {
  const int file = Create(folder, "written");
  const struct iovec parts[2] = {{(void*)"vec", 3}, {(void*)"tor", 3}};
  DO(SYS_write, file, "0123456789", 10);
  DO(SYS_pwrite64, file, "abc", 3, 4);
  DO(SYS_writev, file, parts, 2);
  DO(SYS_pwritev, file, parts, 2, 20, 0);
  DO(SYS_pwritev2, file, parts, 2, 1, 0, 0);
  DO(SYS_pwritev2, file, parts, 1, -1L, -1L, 0); /* at the position */
  DO(SYS_pwritev2, file, parts, 1, 0, 0, RWF_APPEND);
  DO(SYS_lseek, file, 30, SEEK_SET);
  DO(SYS_write, file, "gap", 3);
  DO(SYS_write, file, "", 0);
  TRY(SYS_write, file, (void*)1, 4); /* EFAULT */
  close(file);
  const int log = open(F("log"), O_WRONLY | O_CREAT | O_APPEND, 0644);
  DO(SYS_write, log, "one", 3);
  DO(SYS_pwrite64, log, "two", 3, 0); /* appends all the same: pwrite(2), BUGS */
  DO(SYS_pwritev2, log, parts, 1, -1L, -1L, 0);
  close(log);
}

static void Copies(void) {
  const int from = open(F("source"), O_RDWR | O_CREAT | O_TRUNC, 0644);
  Write(from, "0123456789");
  const int to = Create(folder, "copy");
  off_t start = 1;
  DO(SYS_sendfile, to, from, &start, 6);
  loff_t in = 0;
  loff_t out = 2;
  DO(SYS_copy_file_range, from, &in, to, &out, 3, 0);
  DO(SYS_copy_file_range, from, &in, to, NULL, 2, 0);
  int ends[2];
  Must(pipe(ends) == 0, "pipe");
  Write(ends[1], "spliced");
  DO(SYS_splice, ends[0], NULL, to, NULL, 3, 0);
  out = 20;
  DO(SYS_splice, ends[0], NULL, to, &out, 4, 0);
  TRY(SYS_ioctl, to, FICLONE, from); /* not on every file system */
  close(from);
  close(to);
}

static void Sizes(void) {
  const int file = Create(folder, "sizes");
  Write(file, "0123456789");
  DO(SYS_ftruncate, file, 4);
  DO(SYS_fallocate, file, 0, 2, 6);
  DO(SYS_fallocate, file, FALLOC_FL_KEEP_SIZE, 0, 100);
  DO(SYS_fallocate, file, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, 1, 2);
  DO(SYS_truncate, F("sizes"), 7);
  close(file);
}

/* Blocks of 4096 bytes; on a file system that knows these forms. */
static void Ranges(void) {
  static char block[4096];
  const int file = Create(folder, "ranges");
  for (int i = 0; i < 4; ++i) {
    memset(block, 'a' + i, sizeof(block));
    Must(write(file, block, sizeof(block)) == sizeof(block), "write");
  }
  TRY(SYS_fallocate, file, FALLOC_FL_ZERO_RANGE, 100, 200);
  TRY(SYS_fallocate, file, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, 16000, 1000);
  TRY(SYS_fallocate, file, FALLOC_FL_COLLAPSE_RANGE, 4096, 4096);
  TRY(SYS_fallocate, file, FALLOC_FL_INSERT_RANGE, 4096, 8192);
  close(file);
}

static void Syncs(void) {
  const int at = OpenFolder();
  const int file = Create(folder, "synced");
  Write(file, "x");
  DO(SYS_fsync, file);
  DO(SYS_fdatasync, file);
  TRY(SYS_sync_file_range, file, 0, 4, SYNC_FILE_RANGE_WRITE);
  DO(SYS_fsync, at);
  DO(SYS_syncfs, at);
  close(file);
  close(at);
}

static void Names(void) {
  const int at = OpenFolder();
  const int file = Create(folder, "a");
  Write(file, "name");
  DO(SYS_link, F("a"), F("b"));
  DO(SYS_linkat, at, "a", at, "c", 0);
  DO(SYS_symlink, "a", F("to a"));
  DO(SYS_symlinkat, "b", at, "to b");
  DO(SYS_rename, F("c"), F("d"));
  DO(SYS_rename, F("a"), F("b")); /* two names of one file: nothing happens */
  DO(SYS_renameat, at, "d", at, "e");
  DO(SYS_renameat2, at, "e", at, "f", RENAME_NOREPLACE);
  TRY(SYS_renameat2, at, "f", at, "a", RENAME_NOREPLACE); /* EEXIST */
  DO(SYS_mkdir, F("folder"), 0755);
  DO(SYS_mkdirat, at, "inner", 0700);
  TRY(SYS_mkdirat, at, "inner", 0700); /* EEXIST */
  DO(SYS_renameat2, at, "f", at, "folder", RENAME_EXCHANGE);
  DO(SYS_rename, F("inner"), F("f/inner"));
  close((int)syscall(SYS_openat, at, "f/inner/deep", O_WRONLY | O_CREAT, 0644));
  DO(SYS_rename, F("f"), F("g")); /* a folder that is not empty */
  DO(SYS_unlink, F("to a"));
  DO(SYS_unlinkat, at, "to b", 0);
  DO(SYS_unlinkat, at, "g/inner/deep", 0);
  DO(SYS_rmdir, F("g/inner"));
  DO(SYS_unlinkat, at, "g", AT_REMOVEDIR);
  Write(file, " of three");
  close(file);
  close(at);
}

static void Attributes(void) {
  const int at = OpenFolder();
  const int file = Create(folder, "attributes");
  const uid_t user = getuid();
  const gid_t group = getgid();
  DO(SYS_fchmod, file, 0600);
  DO(SYS_fchown, file, user, group);
  DO(SYS_chmod, F("attributes"), 0640);
  DO(SYS_fchmodat, at, "attributes", 0600);
  TRY(452 /* fchmodat2 */, at, "attributes", 0644, 0);
  DO(SYS_chown, F("attributes"), user, group);
  DO(SYS_lchown, F("attributes"), user, group);
  DO(SYS_fchownat, at, "attributes", user, group, 0);
  DO(SYS_utime, F("attributes"), NULL);
  DO(SYS_utimes, F("attributes"), NULL);
  DO(SYS_futimesat, at, "attributes", NULL);
  DO(SYS_utimensat, at, "attributes", NULL, 0);
  close(file);
  close(at);
}

static void Nameless(void) {
  const int file = Create(folder, "nameless");
  Must(unlink(F("nameless")) == 0, "unlink");
  Write(file, "lost");
  close(file);
}

static void Map(void) {
  const int file = Create(folder, "mapped");
  Write(file, "mapped");
  char* const bytes = mmap(NULL, 6, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  Must(bytes != MAP_FAILED, "mmap");
  bytes[0] = 'M';
  munmap(bytes, 6);
  close(file);
}

/* A mapping that becomes writable later. */
static void Protect(void) {
  const int file = Create(folder, "protected");
  Write(file, "protected");
  char* const bytes = mmap(NULL, 9, PROT_READ, MAP_SHARED, file, 0);
  Must(bytes != MAP_FAILED, "mmap");
  Must(mprotect(bytes, 9, PROT_READ | PROT_WRITE) == 0, "mprotect");
  bytes[0] = 'P';
  close(file);
}

/* Mappings through which nothing can reach the file: not operations. */
static void MapHarmlessly(void) {
  const int file = Create(folder, "read");
  Write(file, "read");
  char* const private = mmap(NULL, 4, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  Must(private != MAP_FAILED, "private mmap");
  private[0] = 'R';
  Must(dup2(file, 7) == 7, "dup2"); /* calls on low descriptors are looked at from now on */
  close(file);
  const int reader = open(F("read"), O_RDONLY);
  Must(mmap(NULL, 4, PROT_READ, MAP_SHARED, reader, 0) != MAP_FAILED, "mmap for reading");
  close(reader);
}

/* Blocks past the page cache. */
static void Direct(void) {
  const int file = open(F("direct"), O_WRONLY | O_CREAT | O_DIRECT, 0644);
  if (file < 0 && errno == EINVAL) {
    exit(77); /* not on this file system */
  }
  char* const block = aligned_alloc(4096, 8192);
  Must(file >= 0 && block != NULL, "O_DIRECT");
  memset(block, 'd', 4096);
  memset(block + 4096, 'e', 4096);
  Must(write(file, block, 8192) == 8192, "direct write");
  Must(pwrite(file, block + 4096, 4096, 0) == 4096, "direct pwrite");
  close(file);
}

static void Sync(void) { sync(); }

/* Each of these puts a descriptor of "low" at a low number and writes through it. */
static void Dup(void) { Write((int)syscall(SYS_dup, Create(folder, "low")), "dup"); }
static void Dup2(void) { Write((int)syscall(SYS_dup2, Create(folder, "low"), 7), "dup2"); }
static void Dup3(void) { Write((int)syscall(SYS_dup3, Create(folder, "low"), 8, 0), "dup3"); }
static void Fcntl(void) {
  const int file = Create(folder, "low");
  Write((int)syscall(SYS_fcntl, file, F_DUPFD, 10), "fcntl");
  Write((int)syscall(SYS_fcntl, file, F_DUPFD_CLOEXEC, 10), "cloexec");
}

/* No number from 600 on is to be had. */
static void Limit(void) {
  const struct rlimit limit = {64, 64};
  Must(setrlimit(RLIMIT_NOFILE, &limit) == 0, "setrlimit");
  const int file = Create(folder, "limited");
  Must(file < 64, "a descriptor above the limit");
  Write(file, "limited");
}

/* Standard descriptors, as the redirections of a shell make them. */
static void Standard(void) {
  close(0);
  Must(Create(folder, "zero") == 0, "descriptor 0");
  Write(0, "zero");
  Must(ftruncate(0, 2) == 0, "ftruncate");
  const int file = Create(folder, "one");
  Must(dup2(file, 1) == 1, "dup2");
  close(file);
  Write(1, "one");
  Must(ftruncate(1, 1) == 0, "ftruncate");
  const int other = dup(1);
  Must(dup2(1, 9) == 9, "dup2");
  Write(9, "nine");
  Write(other, "other");
}

static void Denied(void) {
  char parameters[256] = {0};
  aio_context_t context = 0;
  struct iocb request = {.aio_lio_opcode = IOCB_CMD_PWRITE, .aio_buf = (uintptr_t) "aio"};
  struct iocb* requests[1] = {&request};
  request.aio_nbytes = 3;
  request.aio_fildes = (uint32_t)Create(folder, "file");
  DO(SYS_io_setup, 1, &context);
  Must(syscall(SYS_io_submit, context, 1, requests) < 0 && errno == ENOSYS, "io_submit");
  Must(syscall(SYS_io_uring_setup, 4, parameters) < 0 && errno == ENOSYS, "io_uring_setup");
  Must(syscall(SYS_io_uring_enter, -1, 0, 0, 0, NULL, 0) < 0 && errno == ENOSYS, "enter");
  Must(syscall(SYS_io_uring_register, -1, 0, NULL, 0) < 0 && errno == ENOSYS, "register");
  Write((int)request.aio_fildes, "fallback");
}

/* What changes the view of a process, or gets descriptors unseen. All may fail. */
static void Told(void) {
  TRY(SYS_chroot, "/");
  TRY(SYS_pivot_root, "/no-such-folder", "/no-such-folder");
  TRY(SYS_mount, "none", "/no-such-folder", "none", 0, NULL);
  TRY(SYS_move_mount, -1, "", -1, "", 0);
  TRY(SYS_setns, -1, 0);
  TRY(SYS_unshare, CLONE_NEWNS | CLONE_THREAD); /* CLONE_THREAD alone works */
  TRY(SYS_unshare, 0);                          /* not told */
  TRY(SYS_open_by_handle_at, -1, NULL, 0);
  TRY(SYS_pidfd_getfd, -1, -1, 0);
  TRY(SYS_ptrace, 0 /* PTRACE_TRACEME */, 0, 0, 0);
  const long child = syscall(SYS_clone, CLONE_NEWNS | SIGCHLD, NULL, NULL, NULL, NULL);
  if (child == 0) {
    _exit(0);
  }
  if (child > 0) {
    waitpid((pid_t)child, NULL, 0);
  }
}

static const struct {
  const char* name;
  void (*make)(void);
  int by_default;
} groups[] = {
    {"opens", Opens, 1},       {"writes", Writes, 1},
    {"copies", Copies, 1},     {"sizes", Sizes, 1},
    {"ranges", Ranges, 1},     {"syncs", Syncs, 1},
    {"names", Names, 1},       {"attributes", Attributes, 1},
    {"nameless", Nameless, 1}, {"map", Map, 1},
    {"protect", Protect, 0},   {"map harmlessly", MapHarmlessly, 0},
    {"direct", Direct, 0},     {"sync", Sync, 0},
    {"dup", Dup, 0},           {"dup2", Dup2, 0},
    {"dup3", Dup3, 0},         {"fcntl", Fcntl, 0},
    {"limit", Limit, 0},       {"standard", Standard, 0},
    {"denied", Denied, 0},     {"told", Told, 0},
};

int main(int argc, char** argv) {
  Must(argc == 2 || argc == 3, "usage: every_operation FOLDER [GROUP]");
  folder = argv[1];
  for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); ++i) {
    if (argc == 2 ? groups[i].by_default : strcmp(argv[2], groups[i].name) == 0) {
      groups[i].make();
    }
  }
  return 0;
}
