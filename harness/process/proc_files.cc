#include "harness/process/proc_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <sstream>

#include "harness/base/unique_fd.h"

namespace reprise {
namespace {

// Value after "name:" in a text of such lines; nothing when there is none.
std::optional<long long> NumberAfter(const std::string& text, const std::string& name, int base) {
  const std::size_t at = text.find(name);
  if (at == std::string::npos) {
    return std::nullopt;
  }
  return std::strtoll(text.c_str() + at + name.size(), nullptr, base);
}

// Numeric entries of a /proc folder.
std::vector<pid_t> Numbers(const std::string& folder) {
  std::vector<pid_t> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), closedir);
  if (!entries) {
    return numbers;
  }
  while (const dirent* entry = readdir(entries.get())) {  // NOLINT(concurrency-mt-unsafe)
    if (*entry->d_name >= '0' && *entry->d_name <= '9') {
      numbers.push_back(std::atoi(entry->d_name));  // NOLINT: the kernel writes numbers here
    }
  }
  return numbers;
}

}  // namespace

std::optional<FileFacts> FactsOfPath(const std::string& path, bool follow) {
  struct stat info {};
  if (fstatat(AT_FDCWD, path.c_str(), &info, follow ? 0 : AT_SYMLINK_NOFOLLOW) != 0) {
    return std::nullopt;
  }
  return FileFacts{.key = {info.st_dev, info.st_ino},
                   .is_regular = S_ISREG(info.st_mode),
                   .is_folder = S_ISDIR(info.st_mode),
                   .size_bytes = info.st_size,
                   .mode = info.st_mode & 07777U,
                   .link_count = static_cast<unsigned>(info.st_nlink)};
}

std::string DescriptorLink(pid_t tid, int fd) { return fmt::format("/proc/{}/fd/{}", tid, fd); }

std::optional<std::string> ReadLink(const std::string& path) {
  char text[PATH_MAX + 16];
  const ssize_t length = readlink(path.c_str(), text, sizeof(text));
  if (length < 0) {
    return std::nullopt;
  }
  return std::string(text, static_cast<std::size_t>(length));
}

std::optional<DescriptorState> ReadDescriptorState(pid_t tid, int fd) {
  const std::string text = ReadSmallFile(fmt::format("/proc/{}/fdinfo/{}", tid, fd));
  const auto position = NumberAfter(text, "pos:", 10);
  const auto flags = NumberAfter(text, "flags:", 8);
  if (!position || !flags) {
    return std::nullopt;
  }
  return DescriptorState{*position, static_cast<int>(*flags)};
}

std::vector<int> OpenDescriptors(pid_t pid) { return Numbers(fmt::format("/proc/{}/fd", pid)); }

std::set<FileKey> SharedMappings(pid_t pid) {
  std::set<FileKey> files;
  std::istringstream lines(ReadSmallFile(fmt::format("/proc/{}/maps", pid), 16U << 20U));
  // "7f00-7f01 rw-s 00000000 08:01 1234   /path"
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string range;
    std::string permissions;
    std::string offset;
    unsigned major_number = 0;
    unsigned minor_number = 0;
    char colon = 0;
    std::uint64_t inode = 0;
    fields >> range >> permissions >> offset >> std::hex >> major_number >> colon >> minor_number >>
        std::dec >> inode;
    if (fields && inode != 0 && permissions.ends_with('s')) {
      files.insert({makedev(major_number, minor_number), inode});
    }
  }
  return files;
}

std::optional<pid_t> GroupOf(pid_t tid) {
  const auto group = NumberAfter(ReadSmallFile(fmt::format("/proc/{}/status", tid)), "Tgid:", 10);
  return group ? std::optional<pid_t>(static_cast<pid_t>(*group)) : std::nullopt;
}

std::chrono::nanoseconds CpuTimeOf(pid_t pid) {
  clockid_t clock = 0;
  timespec time{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) {
    return std::chrono::nanoseconds(0);
  }
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

bool HasBusyThread(pid_t pid) {
  const std::string task = fmt::format("/proc/{}/task", pid);
  for (const pid_t tid : Numbers(task)) {
    const std::string text = ReadSmallFile(fmt::format("{}/{}/stat", task, tid));
    const std::size_t name_end = text.rfind(')');  // the name may hold anything
    const char state =
        name_end == std::string::npos || name_end + 2 >= text.size() ? 'X' : text[name_end + 2];
    if (state == 'R' || state == 'D') {
      return true;
    }
  }
  return false;
}

std::vector<pid_t> OwnChildren() {
  std::vector<pid_t> children;
  for (const pid_t thread : Numbers("/proc/self/task")) {
    const std::string text =
        ReadSmallFile(fmt::format("/proc/self/task/{}/children", thread), 1U << 20U);
    const char* at = text.c_str();
    char* end = nullptr;
    for (long pid = std::strtol(at, &end, 10); end != at; pid = std::strtol(at, &end, 10)) {
      children.push_back(static_cast<pid_t>(pid));
      at = end;
    }
  }
  return children;
}

std::string DescribeThreads(pid_t pid) {
  const std::string task = fmt::format("/proc/{}/task", pid);
  std::string text = fmt::format("process {}: {}\n", pid,
                                 ReadSmallFile(fmt::format("/proc/{}/cmdline", pid)).c_str());
  for (const pid_t tid : Numbers(task)) {
    const std::string folder = fmt::format("{}/{}", task, tid);
    const std::string status = ReadSmallFile(folder + "/status");
    const std::size_t state = status.find("State:");
    text += fmt::format(
        " thread {} ({}): {}\n  wchan: {}\n  syscall: {}", tid, ReadSmallFile(folder + "/comm", 15),
        state == std::string::npos ? "gone"
                                   : status.substr(state, status.find('\n', state) - state),
        ReadSmallFile(folder + "/wchan"), ReadSmallFile(folder + "/syscall"));
    if (const std::string stack = ReadSmallFile(folder + "/stack"); !stack.empty()) {
      text += "  kernel stack:\n" + stack;
    }
  }
  return text;
}

std::string ReadSmallFile(const std::string& path, std::size_t max_bytes) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.IsValid()) {
    return {};
  }
  std::string text(std::min<std::size_t>(max_bytes, 4096), '\0');
  std::size_t done = 0;
  while (done < max_bytes) {
    if (done == text.size()) {
      text.resize(std::min(max_bytes, text.size() * 4));
    }
    const ssize_t got = read(file.Get(), text.data() + done, text.size() - done);
    if (got <= 0) {
      break;
    }
    done += static_cast<std::size_t>(got);
  }
  text.resize(done);
  return text;
}

}  // namespace reprise
