// How each kind of operation changes a FolderState. Paths come resolved from the tracer: relative
// ones name entries, absolute ones lie outside, "." is the folder itself, and "" is a file without
// a name.

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/falloc.h>

#include <algorithm>

#include "harness/explore/folder_state.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr unsigned kWriteZeroes = 0x80;  // FALLOC_FL_WRITE_ZEROES, newer than some headers

bool IsFolderItself(const std::string& path) { return path == "."; }

// Names an entry of the folder.
bool IsInside(const std::string& path) {
  return !path.empty() && path.front() != '/' && !IsFolderItself(path);
}

std::string WhereOf(const Operation& operation) {
  return fmt::format("operation {} ({} of \"{}\")", operation.address.ToText(),
                     operation.call.empty() ? ToText(operation.kind) : operation.call,
                     operation.path);
}

tl::unexpected<Error> DoesNotFit(const Operation& operation, const std::string& what) {
  return Fail(ErrorCode::kCorrupt, what + "; operations before this one are missing in the log",
              WhereOf(operation));
}

}  // namespace

Status FolderState::Apply(const Operation& operation) {
  if (operation.result < 0) {
    return {};
  }
  switch (operation.kind) {
    case OperationKind::kOpen:
      return ApplyOpen(operation);
    case OperationKind::kWrite:
      return ApplyWrite(operation);
    case OperationKind::kTruncate:
      return ApplyTruncate(operation);
    case OperationKind::kAllocate:
      return ApplyAllocate(operation);
    case OperationKind::kSync:
    case OperationKind::kSyncRange:
    case OperationKind::kAttributes:
      return {};  // the content in the page cache stays what it is
    case OperationKind::kRename:
      return ApplyRename(operation);
    case OperationKind::kLink:
      return ApplyLink(operation);
    case OperationKind::kSymlink:
      return ApplySymlink(operation);
    case OperationKind::kUnlink:
      return ApplyUnlink(operation);
    case OperationKind::kMakeFolder:
      return ApplyMakeFolder(operation);
    case OperationKind::kRemoveFolder:
      return ApplyRemoveFolder(operation);
    case OperationKind::kMapShared:
      return ApplyMapShared(operation);
  }
  return {};
}

void FolderState::Remember(const Operation& operation, const Content& content) {
  if (operation.inode != 0) {
    inodes_[{operation.device, operation.inode}] = content;
  }
}

Result<FolderState::Content> FolderState::FindContent(const Operation& operation) {
  if (operation.inode != 0) {
    const auto known = inodes_.find({operation.device, operation.inode});
    if (known != inodes_.end()) {
      return known->second;
    }
  }
  if (!IsInside(operation.path)) {
    return Content();
  }
  const auto entry = entries_.find(operation.path);
  if (entry == entries_.end() || entry->second.kind != EntryKind::kFile) {
    return DoesNotFit(operation, "there is no file of that name");
  }
  Remember(operation, entry->second.content);
  return entry->second.content;
}

Status FolderState::AddEntry(const Operation& operation, const std::string& path,
                             const FolderEntry& entry) {
  const std::string parent = fs::path(path).parent_path().string();
  if (!parent.empty()) {
    const auto found = entries_.find(parent);
    if (found == entries_.end() || found->second.kind != EntryKind::kFolder) {
      return DoesNotFit(operation, fmt::format("there is no folder \"{}\"", parent));
    }
  }
  if (!entries_.try_emplace(path, entry).second) {
    return DoesNotFit(operation, fmt::format("\"{}\" exists already", path));
  }
  return {};
}

bool FolderState::HasChildren(const std::string& path) const {
  const auto next = entries_.lower_bound(path + "/");
  return next != entries_.end() && next->first.starts_with(path + "/");
}

std::map<std::string, FolderEntry> FolderState::Take(const std::string& path) {
  std::map<std::string, FolderEntry> taken;
  const auto take = [this, &path, &taken](std::map<std::string, FolderEntry>::iterator at) {
    taken[at->first.substr(path.size())] = std::move(at->second);
    return entries_.erase(at);
  };
  if (const auto self = entries_.find(path); self != entries_.end()) {
    take(self);
  }
  auto at = entries_.lower_bound(path + "/");
  while (at != entries_.end() && at->first.starts_with(path + "/")) {
    at = take(at);
  }
  return taken;
}

void FolderState::Put(const std::string& path, std::map<std::string, FolderEntry>&& subtree) {
  for (auto& [rest, entry] : subtree) {
    entries_[path + rest] = std::move(entry);
  }
}

Status FolderState::CheckSize(const Operation& operation, std::int64_t size_bytes) const {
  if (size_bytes < 0 || static_cast<std::uint64_t>(size_bytes) > max_bytes_) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("a file of {} bytes is above the limit of {}", size_bytes, max_bytes_),
                WhereOf(operation));
  }
  return {};
}

Status FolderState::ApplyOpen(const Operation& operation) {
  if (operation.path.empty()) {  // O_TMPFILE: it may get a name later
    Remember(operation, std::make_shared<std::string>());
    return {};
  }
  if (!IsInside(operation.path)) {
    return {};
  }
  if (operation.creates) {
    FolderEntry entry{.content = std::make_shared<std::string>()};
    // Replaces what is remembered: the number of a removed file may come again.
    Remember(operation, entry.content);
    return AddEntry(operation, operation.path, entry);
  }
  const auto entry = entries_.find(operation.path);
  if (entry == entries_.end()) {
    return DoesNotFit(operation, "an existing file was opened that is not there");
  }
  if (entry->second.kind == EntryKind::kFile) {
    Remember(operation, entry->second.content);
    if (operation.truncates) {
      entry->second.content->clear();
    }
  }
  return {};
}

Status FolderState::ApplyWrite(const Operation& operation) {
  REPRISE_ASSIGN_OR_RETURN(const Content content, FindContent(operation));
  if (!content || operation.length_bytes == 0) {
    return {};  // outside the folder, or nothing
  }
  if (operation.data.size() != static_cast<std::uint64_t>(operation.length_bytes)) {
    return DoesNotFit(operation, fmt::format("{} bytes were written, the log holds {} of them",
                                             operation.length_bytes, operation.data.size()));
  }
  std::int64_t end = 0;
  if (operation.offset_bytes < 0 ||
      __builtin_add_overflow(operation.offset_bytes, operation.length_bytes, &end)) {
    return DoesNotFit(operation, fmt::format("offset {} is impossible", operation.offset_bytes));
  }
  REPRISE_RETURN_IF_ERROR(CheckSize(operation, end));
  content->resize(std::max(content->size(), static_cast<std::size_t>(end)), '\0');
  std::copy(operation.data.begin(), operation.data.end(),
            content->begin() + operation.offset_bytes);
  return {};
}

Status FolderState::ApplyTruncate(const Operation& operation) {
  REPRISE_ASSIGN_OR_RETURN(const Content content, FindContent(operation));
  if (content) {
    REPRISE_RETURN_IF_ERROR(CheckSize(operation, operation.length_bytes));
    content->resize(static_cast<std::size_t>(operation.length_bytes), '\0');
  }
  return {};
}

Status FolderState::ApplyAllocate(const Operation& operation) {
  REPRISE_ASSIGN_OR_RETURN(const Content content, FindContent(operation));
  if (!content) {
    return {};
  }
  constexpr unsigned kKnown = FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE |
                              FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE |
                              FALLOC_FL_UNSHARE_RANGE | kWriteZeroes;
  if ((operation.mode & ~kKnown) != 0) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("fallocate with mode {:#x} is not known", operation.mode),
                WhereOf(operation));
  }
  std::int64_t end = 0;
  if (operation.offset_bytes < 0 || operation.length_bytes < 0 ||
      __builtin_add_overflow(operation.offset_bytes, operation.length_bytes, &end)) {
    return DoesNotFit(operation, "the range is impossible");
  }
  if ((operation.mode & (FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE)) != 0) {
    return MoveData(operation, *content);
  }
  if ((operation.mode & FALLOC_FL_KEEP_SIZE) == 0) {
    REPRISE_RETURN_IF_ERROR(CheckSize(operation, end));
    content->resize(std::max(content->size(), static_cast<std::size_t>(end)), '\0');
  }
  if ((operation.mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE | kWriteZeroes)) != 0) {
    const auto size = static_cast<std::int64_t>(content->size());
    std::fill(content->begin() + std::min(operation.offset_bytes, size),
              content->begin() + std::min(end, size), '\0');
  }
  return {};
}

// FALLOC_FL_COLLAPSE_RANGE takes the range out, FALLOC_FL_INSERT_RANGE makes room for it.
Status FolderState::MoveData(const Operation& operation, std::string& content) const {
  const auto offset = static_cast<std::size_t>(operation.offset_bytes);
  const auto length = static_cast<std::size_t>(operation.length_bytes);
  const bool takes_out = (operation.mode & FALLOC_FL_COLLAPSE_RANGE) != 0;
  if (offset > content.size() || (takes_out && length > content.size() - offset)) {
    return DoesNotFit(operation, fmt::format("the file has only {} bytes", content.size()));
  }
  if (takes_out) {
    content.erase(offset, length);
    return {};
  }
  std::int64_t size = 0;
  if (__builtin_add_overflow(static_cast<std::int64_t>(content.size()), operation.length_bytes,
                             &size)) {
    return DoesNotFit(operation, "the range is impossible");
  }
  REPRISE_RETURN_IF_ERROR(CheckSize(operation, size));
  content.insert(offset, length, '\0');
  return {};
}

// A file that got its content outside the folder, or without a name.
Status FolderState::ApplyArrival(const Operation& operation) {
  FolderEntry entry;
  if (operation.inode != 0) {
    entry.content = inodes_[{operation.device, operation.inode}];
  }
  if (!entry.content) {
    entry.content = std::make_shared<std::string>();
    Remember(operation, entry.content);
  }
  REPRISE_RETURN_IF_ERROR(CheckSize(operation, static_cast<std::int64_t>(operation.data.size())));
  *entry.content = operation.data;
  if (operation.kind == OperationKind::kRename) {
    entries_.erase(operation.second_path);  // what it replaces
  }
  return AddEntry(operation, operation.second_path, entry);
}

Status FolderState::ApplyRename(const Operation& operation) {
  const std::string& from = operation.path;
  const std::string& to = operation.second_path;
  const bool arrives = IsInside(to);
  if (!IsInside(from)) {
    return arrives ? ApplyArrival(operation) : Status();
  }
  const auto source = entries_.find(from);
  if (source == entries_.end()) {
    return DoesNotFit(operation, "there is nothing of that name to rename");
  }
  const auto target = arrives ? entries_.find(to) : entries_.end();
  if (operation.exchanges) {
    if (target == entries_.end()) {
      return DoesNotFit(operation, fmt::format("there is no \"{}\" to exchange with", to));
    }
    auto first = Take(from);
    Put(from, Take(to));
    Put(to, std::move(first));
    return {};
  }
  if (target != entries_.end()) {
    // Two names of one file or link: rename(2) does nothing then.
    if (from == to ||
        (source->second.content != nullptr && source->second.content == target->second.content)) {
      return {};
    }
    if (operation.excludes || HasChildren(to)) {
      return DoesNotFit(operation, fmt::format("\"{}\" is in the way", to));
    }
    entries_.erase(target);
  }
  auto subtree = Take(from);
  if (!arrives) {
    return {};
  }
  // The entry itself first: it tests that the parent is there.
  REPRISE_RETURN_IF_ERROR(AddEntry(operation, to, subtree.at("")));
  Put(to, std::move(subtree));
  return {};
}

Status FolderState::ApplyLink(const Operation& operation) {
  if (!IsInside(operation.second_path)) {
    return {};
  }
  if (!IsInside(operation.path)) {
    return ApplyArrival(operation);
  }
  const auto source = entries_.find(operation.path);
  if (source == entries_.end() || source->second.kind == EntryKind::kFolder) {
    return DoesNotFit(operation, "there is no file of that name to link");
  }
  return AddEntry(operation, operation.second_path, source->second);
}

Status FolderState::ApplySymlink(const Operation& operation) {
  if (!IsInside(operation.second_path)) {
    return {};
  }
  return AddEntry(
      operation, operation.second_path,
      {.kind = EntryKind::kSymlink, .content = std::make_shared<std::string>(operation.path)});
}

Status FolderState::ApplyUnlink(const Operation& operation) {
  if (!IsInside(operation.path)) {
    return {};
  }
  const auto entry = entries_.find(operation.path);
  if (entry == entries_.end() || entry->second.kind == EntryKind::kFolder) {
    return DoesNotFit(operation, "there is no file of that name to remove");
  }
  if (entry->second.kind == EntryKind::kFile) {
    Remember(operation, entry->second.content);  // writes through an open descriptor go there
  }
  entries_.erase(entry);
  return {};
}

Status FolderState::ApplyMakeFolder(const Operation& operation) {
  if (!IsInside(operation.path)) {
    return {};
  }
  return AddEntry(operation, operation.path, {.kind = EntryKind::kFolder});
}

Status FolderState::ApplyRemoveFolder(const Operation& operation) {
  if (!IsInside(operation.path)) {
    return {};
  }
  const auto entry = entries_.find(operation.path);
  if (entry == entries_.end() || entry->second.kind != EntryKind::kFolder ||
      HasChildren(operation.path)) {
    return DoesNotFit(operation, "there is no empty folder of that name");
  }
  entries_.erase(entry);
  return {};
}

Status FolderState::ApplyMapShared(const Operation& operation) {
  REPRISE_ASSIGN_OR_RETURN(const Content content, FindContent(operation));
  for (auto& [path, entry] : entries_) {
    if (content && entry.content == content) {
      entry.opaque = true;
    }
  }
  return {};
}

}  // namespace reprise
