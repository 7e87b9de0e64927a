/* Writes beside its checkpoint folder (argv[2]) and then moves in what it has written: files and
 * whole folders, by rename and link. Writers that use the system's temporary folder do this.
 * argv[3] names what is moved in. */

#include <errno.h>
#include <sys/mman.h>
#include <sys/sendfile.h>

#include "victim.h"

static const char* inside;
static const char* outside;

static const char* I(const char* name) { return In(inside, name); }
static const char* O(const char* name) { return In(outside, name); }

static void MakeFile(const char* folder, const char* name, const char* text) {
  const int file = Create(folder, name);
  Write(file, text);
  close(file);
}

static void Rename(const char* from, const char* to) { Must(rename(from, to) == 0, "rename"); }

static void MoveFiles(void) {
  MakeFile(outside, "file", "moved");
  Rename(O("file"), I("file"));
  MakeFile(outside, "newer", "newer");
  Rename(O("newer"), I("file")); /* replaces */
  MakeFile(outside, "linked", "linked");
  Must(link(O("linked"), I("linked")) == 0, "link");
  /* Another name of a file in the folder: this changes the folder too. */
  const int file = open(O("linked"), O_WRONLY | O_APPEND);
  Write(file, " later");
  close(file);
  Must(truncate(O("linked"), 3) == 0, "truncate");
  Rename(I("file"), O("file"));
  Rename(I("linked"), O("linked")); /* two names of one file: nothing happens */
}

static void MoveFolders(void) {
  Must(mkdir(O("folder"), 0755) == 0, "mkdir");
  MakeFile(O("folder"), "inner", "in a folder");
  Must(link(O("folder/inner"), O("folder/same")) == 0, "link");
  Must(symlink("inner", O("folder/to inner")) == 0, "symlink");
  Must(mkdir(O("folder/deep"), 0755) == 0, "mkdir");
  Must(mkdir(I("folder"), 0755) == 0, "mkdir");
  Rename(O("folder"), I("folder")); /* replaces an empty folder */
  const int file = open(I("folder/same"), O_WRONLY);
  Write(file, "IN");
  close(file);
  Rename(I("folder"), O("folder"));
}

static void MoveLinks(void) {
  Must(symlink("nowhere", O("link")) == 0, "symlink");
  Rename(O("link"), I("link"));
  Must(symlink("elsewhere", O("link")) == 0, "symlink");
  Rename(O("link"), I("link")); /* replaces */
}

static void Exchange(void) {
  MakeFile(outside, "file", "from outside");
  MakeFile(inside, "file", "from inside");
  Must(renameat2(AT_FDCWD, I("file"), AT_FDCWD, O("file"), RENAME_EXCHANGE) == 0, "exchange");
  Must(mkdir(O("folder"), 0755) == 0, "mkdir");
  MakeFile(O("folder"), "inner", "inner");
  Must(renameat2(AT_FDCWD, O("folder"), AT_FDCWD, I("file"), RENAME_EXCHANGE) == 0, "exchange");
}

/* A buffered writer that renames before it has flushed. */
static void MoveOpenFile(void) {
  const int file = Create(outside, "open");
  Write(file, "before");
  Rename(O("open"), I("open"));
  Write(file, " after");
  Must(ftruncate(file, 9) == 0, "ftruncate");
  close(file);
}

static void MoveMappedFile(void) {
  const int file = Create(outside, "mapped");
  Write(file, "mapped");
  char* const bytes = mmap(NULL, 6, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  Must(bytes != MAP_FAILED, "mmap");
  close(file);
  Rename(O("mapped"), I("mapped"));
  bytes[0] = 'M';
}

/* What mv does between two file systems. */
static void MoveAcross(void) {
  MakeFile(outside, "far", "from afar");
  if (rename(O("far"), I("far")) == 0) {
    exit(77); /* they are one */
  }
  Must(errno == EXDEV, "rename");
  const int from = open(O("far"), O_RDONLY);
  const int to = Create(inside, "far");
  Must(sendfile(to, from, NULL, 9) == 9, "sendfile");
  close(from);
  close(to);
  Must(unlink(O("far")) == 0, "unlink");
}

/* The number of a file that was removed is given to the next one on many file systems. */
static void ReuseNumber(void) {
  MakeFile(inside, "gone", "gone");
  Must(unlink(I("gone")) == 0, "unlink");
  MakeFile(outside, "other", "other");
  const int file = open(O("other"), O_WRONLY | O_APPEND);
  Write(file, " file");
  Must(fsync(file) == 0, "fsync");
  close(file);
  MakeFile(inside, "last", "last");
}

static const struct {
  const char* name;
  void (*move)(void);
} groups[] = {{"files", MoveFiles},   {"folders", MoveFolders},    {"links", MoveLinks},
              {"exchange", Exchange}, {"open file", MoveOpenFile}, {"mapped", MoveMappedFile},
              {"across", MoveAcross}, {"reuse", ReuseNumber}};

int main(int argc, char** argv) {
  Must(argc == 4, "usage: moves_in FOLDER OTHER_FOLDER WHAT");
  inside = argv[1];
  outside = argv[2];
  for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); ++i) {
    if (strcmp(argv[3], groups[i].name) == 0) {
      groups[i].move();
    }
  }
  return 0;
}
