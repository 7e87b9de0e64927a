#include "harness/process/path_resolver.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <climits>
#include <cstdlib>
#include <string_view>

#include "harness/process/proc_files.h"

namespace reprise {
namespace {

constexpr int kMaxLinks = 40;  // as the kernel (path_resolution(7))

bool Replace(std::string& path, std::string_view prefix, const std::string& by) {
  const bool matches =
      path.starts_with(prefix) && (path.size() == prefix.size() || path[prefix.size()] == '/');
  if (matches) {
    path.replace(0, prefix.size(), by);
  }
  return matches;
}

// Names that mean another file for the tracee than for us.
std::string WithoutSelf(pid_t tid, std::string path) {
  const std::string own = fmt::format("/proc/{}", tid);
  if (Replace(path, "/proc/self", own) || Replace(path, "/proc/thread-self", own) ||
      Replace(path, "/dev/fd", own + "/fd") || Replace(path, "/dev/stdin", own + "/fd/0") ||
      Replace(path, "/dev/stdout", own + "/fd/1") || Replace(path, "/dev/stderr", own + "/fd/2")) {
    return path;
  }
  return path;
}

std::string Absolute(const PathQuestion& question) {
  if (question.text.starts_with('/')) {
    return WithoutSelf(question.tid, question.text);
  }
  const std::string base = question.folder == AT_FDCWD
                               ? fmt::format("/proc/{}/cwd", question.tid)
                               : DescriptorLink(question.tid, question.folder);
  return ReadLink(base).value_or("") + "/" + question.text;
}

std::string RealOrEmpty(const std::string& path) {
  char real[PATH_MAX];
  return realpath(path.c_str(), real) != nullptr ? std::string(real) : std::string();
}

std::string WithoutTrailingSlashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') {
    path.pop_back();
  }
  return path;
}

// Real folder, last component as it is.
std::string RealFolder(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string name = path.substr(slash + 1);
  if (name == "." || name == "..") {
    return RealOrEmpty(path);
  }
  const std::string folder = RealOrEmpty(slash == 0 ? "/" : path.substr(0, slash));
  if (folder.empty()) {
    return path;  // a folder is missing: the call will fail
  }
  return folder == "/" ? folder + name : folder + "/" + name;
}

}  // namespace

std::string ResolvePath(const PathQuestion& question) {
  std::string path = RealFolder(WithoutTrailingSlashes(Absolute(question)));
  for (int i = 0; question.follow && i < kMaxLinks; ++i) {
    const std::optional<std::string> text = ReadLink(path);
    if (!text) {
      break;
    }
    // A link in /proc/PID/fd to a file without a name leads nowhere; its text is all there is.
    if (path.starts_with("/proc/") && !FactsOfPath(*text, false)) {
      return *text;
    }
    path = RealFolder(text->starts_with('/') ? *text : path.substr(0, path.rfind('/') + 1) + *text);
  }
  return path;
}

bool IsBelow(const std::string& path, const std::string& folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

std::string RelativeTo(const std::string& path, const std::string& folder) {
  return path.size() <= folder.size() ? "." : path.substr(folder.size() + 1);
}

}  // namespace reprise
