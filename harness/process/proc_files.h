// What /proc tells about a process (proc(5)). A process may end at any moment: every answer may be
// missing, and that is no error.

#ifndef REPRISE_HARNESS_PROCESS_PROC_FILES_H_
#define REPRISE_HARNESS_PROCESS_PROC_FILES_H_

#include <sys/types.h>

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace reprise {

// Identity of a file that survives its renaming.
struct FileKey {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  // NOLINTNEXTLINE(modernize-use-nullptr): the check takes the comparison for a null pointer
  friend auto operator<=>(const FileKey&, const FileKey&) = default;
};

struct FileFacts {
  FileKey key;
  bool is_regular = false;
  bool is_folder = false;
  std::int64_t size_bytes = 0;
  unsigned mode = 0;  // permission bits
  unsigned link_count = 0;
};

// Of the file that a path names; the last component is followed unless `follow` is false.
std::optional<FileFacts> FactsOfPath(const std::string& path, bool follow = true);

// "/proc/TID/fd/N", which names the open file itself, also when it has no name any more.
std::string DescriptorLink(pid_t tid, int fd);

// Text of a symbolic link.
std::optional<std::string> ReadLink(const std::string& path);

// File position and status flags of a descriptor.
struct DescriptorState {
  std::int64_t position = 0;
  int flags = 0;
};
std::optional<DescriptorState> ReadDescriptorState(pid_t tid, int fd);

// All descriptors of a process, without a certain order.
std::vector<int> OpenDescriptors(pid_t pid);

// Files that the process has mapped shared, writable or not.
std::set<FileKey> SharedMappings(pid_t pid);

// Thread group of a thread.
std::optional<pid_t> GroupOf(pid_t tid);

// User and system time of a process.
std::chrono::nanoseconds CpuTimeOf(pid_t pid);

// A thread of it runs, could run, or waits where nothing can interrupt it (for a disk).
bool HasBusyThread(pid_t pid);

// Direct children of this process, from all of its threads.
std::vector<pid_t> OwnChildren();

// wchan, syscall, stack and state of every thread, for a person to read.
std::string DescribeThreads(pid_t pid);

// First `max_bytes` of a small file.
std::string ReadSmallFile(const std::string& path, std::size_t max_bytes = 65536);

}  // namespace reprise

#endif  // REPRISE_HARNESS_PROCESS_PROC_FILES_H_
