// Real paths of what a tracee's call names, as the kernel will resolve it for that tracee.

#ifndef REPRISE_HARNESS_PROCESS_PATH_RESOLVER_H_
#define REPRISE_HARNESS_PROCESS_PATH_RESOLVER_H_

#include <sys/types.h>

#include <string>

namespace reprise {

struct PathQuestion {
  pid_t tid = 0;
  int folder = -100;  // descriptor that a relative path starts from; AT_FDCWD: the current folder
  std::string text;
  bool follow = false;  // a symbolic link as last component
};

// Absolute, without links, "." and "..", as far as the folders exist; the last component need not.
// A tracee with a root of its own (chroot, mount namespace) is seen through ours.
std::string ResolvePath(const PathQuestion& question);

// True for the folder itself and everything in it. REQUIRES: both are real paths.
bool IsBelow(const std::string& path, const std::string& folder);

// `path` relative to `folder`; "." for the folder itself. REQUIRES: IsBelow(path, folder).
std::string RelativeTo(const std::string& path, const std::string& folder);

}  // namespace reprise

#endif  // REPRISE_HARNESS_PROCESS_PATH_RESOLVER_H_
