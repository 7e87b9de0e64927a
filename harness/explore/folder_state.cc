#include "harness/explore/folder_state.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "harness/base/files.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

std::string_view KindText(EntryKind kind) {
  switch (kind) {
    case EntryKind::kFile:
      return "a file";
    case EntryKind::kFolder:
      return "a folder";
    case EntryKind::kSymlink:
      return "a symbolic link";
  }
  return "";
}

// How two entries of one path differ; empty when they are equal.
std::string DifferenceOf(const FolderEntry& here, const FolderEntry& there) {
  if (here.kind != there.kind) {
    return fmt::format("{} here, {} there", KindText(here.kind), KindText(there.kind));
  }
  if (here.kind == EntryKind::kFolder || here.opaque || there.opaque) {
    return "";
  }
  const std::string& a = *here.content;
  const std::string& b = *there.content;
  if (a == b) {
    return "";
  }
  if (here.kind == EntryKind::kSymlink) {
    return fmt::format("links to \"{}\" here, to \"{}\" there", a, b);
  }
  const auto [in_a, in_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return fmt::format("{} bytes here, {} there, different from byte {}", a.size(), b.size(),
                     in_a - a.begin());
}

}  // namespace

FolderState::FolderState(const FolderState& other)
    : entries_(other.entries_), inodes_(other.inodes_), max_bytes_(other.max_bytes_) {
  std::map<Content, Content> copies = {{nullptr, nullptr}};
  const auto copy = [&copies](Content* content) {
    Content& target = copies[*content];
    if (!target && *content) {
      target = std::make_shared<std::string>(**content);
    }
    *content = target;
  };
  for (auto& [path, entry] : entries_) {
    copy(&entry.content);
  }
  for (auto& [inode, content] : inodes_) {
    copy(&content);
  }
}

FolderState& FolderState::operator=(const FolderState& other) {
  if (this != &other) {
    *this = FolderState(other);
  }
  return *this;
}

Status FolderState::ScanEntry(const fs::path& path, const std::string& name,
                              std::uint64_t* bytes_left) {
  struct stat status = {};
  if (lstat(path.c_str(), &status) != 0) {
    return FailErrno(errno, "cannot stat", path.string());
  }
  FolderEntry& entry = entries_[name];
  if (S_ISDIR(status.st_mode)) {
    entry.kind = EntryKind::kFolder;
    return {};
  }
  if (S_ISLNK(status.st_mode)) {
    std::error_code error;
    entry.kind = EntryKind::kSymlink;
    Content& link = inodes_[{status.st_dev, status.st_ino}];
    if (!link) {
      link = std::make_shared<std::string>(fs::read_symlink(path, error).string());
    }
    entry.content = link;
    return error ? Status(FailErrno(error.value(), "cannot read the link", path.string()))
                 : Status();
  }
  if (!S_ISREG(status.st_mode)) {
    return Fail(ErrorCode::kUnsupported, "expected a file, a folder or a symbolic link",
                path.string());
  }
  Content& known = inodes_[{status.st_dev, status.st_ino}];
  if (!known) {
    REPRISE_ASSIGN_OR_RETURN(std::string content, ReadFile(path, *bytes_left));
    *bytes_left -= content.size();
    known = std::make_shared<std::string>(std::move(content));
  }
  entry.content = known;
  return {};
}

Result<FolderState> FolderState::Scan(const fs::path& folder, std::uint64_t max_bytes) {
  FolderState state;
  std::uint64_t bytes_left = max_bytes;
  state.max_bytes_ = max_bytes;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  if (error == std::errc::no_such_file_or_directory) {
    return state;
  }
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().lexically_relative(folder).string();
    REPRISE_RETURN_IF_ERROR(state.ScanEntry(entry->path(), name, &bytes_left));
  }
  if (error) {
    return FailErrno(error.value(), "cannot walk through the folder", folder.string());
  }
  return state;
}

std::vector<std::string> FolderState::DifferencesFrom(const FolderState& other) const {
  std::vector<std::string> lines;
  for (const auto& [path, entry] : entries_) {
    const auto there = other.entries_.find(path);
    const std::string difference = there == other.entries_.end()
                                       ? fmt::format("{} here, nothing there", KindText(entry.kind))
                                       : DifferenceOf(entry, there->second);
    if (!difference.empty()) {
      lines.push_back(fmt::format("{}: {}", path, difference));
    }
  }
  for (const auto& [path, entry] : other.entries_) {
    if (!entries_.contains(path)) {
      lines.push_back(fmt::format("{}: nothing here, {} there", path, KindText(entry.kind)));
    }
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace reprise
