/* Writes beside its checkpoint folder (argv[2]) and then moves a file and a whole folder in, links
 * a file in, and moves one out. Writers that use the system's temporary folder do this. */

#include "victim.h"

static void MakeFile(const char* folder, const char* name, const char* text) {
  const int file = Create(folder, name);
  Write(file, text);
  close(file);
}

int main(int argc, char** argv) {
  Must(argc == 3, "usage: moves_in FOLDER OTHER_FOLDER");
  const char* const outside = argv[2];
  MakeFile(outside, "file", "moved");
  Must(rename(In(outside, "file"), In(argv[1], "file")) == 0, "rename");
  MakeFile(outside, "linked", "linked");
  Must(link(In(outside, "linked"), In(argv[1], "linked")) == 0, "link");
  /* Another name of a file in the folder: this write changes the folder too. */
  const int file = open(In(outside, "linked"), O_WRONLY | O_APPEND);
  Write(file, " later");
  close(file);
  Must(mkdir(In(outside, "folder"), 0755) == 0, "mkdir");
  MakeFile(In(outside, "folder"), "inner", "in a folder");
  Must(rename(In(outside, "folder"), In(argv[1], "folder")) == 0, "rename of a folder");
  Must(rename(In(argv[1], "file"), In(outside, "file")) == 0, "rename out");
  return 0;
}
