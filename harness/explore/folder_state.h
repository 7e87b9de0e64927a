// The content of a checkpoint folder as an operation log predicts it. Pure: starts no process,
// reads no file of the target.
//
// Crash model K (process kill): the page cache survives, so the folder after a kill is what all
// completed operations made of the folder before.

#ifndef REPRISE_HARNESS_EXPLORE_FOLDER_STATE_H_
#define REPRISE_HARNESS_EXPLORE_FOLDER_STATE_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/result.h"
#include "harness/model/operation.h"

namespace reprise {

enum class EntryKind { kFile, kFolder, kSymlink };

struct FolderEntry {
  EntryKind kind = EntryKind::kFile;
  std::shared_ptr<std::string> content = {};  // of a file (shared by hard links), or a link's text
  bool opaque = false;                        // written through a mapping: content is not known
};

// Entries by path relative to the folder. A copy is deep: operations on one do not show in the
// other.
class FolderState {
 public:
  FolderState() = default;
  FolderState(const FolderState& other);
  FolderState& operator=(const FolderState& other);
  FolderState(FolderState&&) = default;
  FolderState& operator=(FolderState&&) = default;
  ~FolderState() = default;

  // What is on disk now; an absent folder is empty. kCorrupt above `max_bytes` of file content in
  // all, kUnsupported for what is no file, folder or symbolic link.
  static Result<FolderState> Scan(const std::filesystem::path& folder, std::uint64_t max_bytes);

  // Applies one completed operation; failed ones (negative result) change nothing. kCorrupt when
  // the operation does not fit the state: then the log is incomplete, and the state is not to be
  // used on. kUnsupported for a form of fallocate that is not known. A file that comes from outside
  // the folder (rename, link) has its content in Operation::data; for kAllocate, Operation::mode is
  // the mode argument of fallocate. Open files are known by device and inode, so that a write after
  // an unlink or a rename reaches the right content; 0 stands for unknown, and the path is taken
  // then.
  Status Apply(const Operation& operation);

  // Where two states differ, in words, one line per path; empty when they are equal byte for byte.
  // Names, kinds, contents and link texts are compared; permissions, times and opaque contents are
  // not.
  [[nodiscard]] std::vector<std::string> DifferencesFrom(const FolderState& other) const;

  [[nodiscard]] const std::map<std::string, FolderEntry>& Entries() const { return entries_; }

 private:
  using InodeKey = std::pair<std::uint64_t, std::uint64_t>;  // device, inode
  using Content = std::shared_ptr<std::string>;

  Status ScanEntry(const std::filesystem::path& path, const std::string& name,
                   std::uint64_t* bytes_left);

  Status ApplyOpen(const Operation& operation);
  Status ApplyWrite(const Operation& operation);
  Status ApplyTruncate(const Operation& operation);
  Status ApplyAllocate(const Operation& operation);
  Status MoveData(const Operation& operation, std::string& content) const;
  Status ApplyRename(const Operation& operation);
  Status ApplyArrival(const Operation& operation);
  Status ApplyLink(const Operation& operation);
  Status ApplySymlink(const Operation& operation);
  Status ApplyUnlink(const Operation& operation);
  Status ApplyMakeFolder(const Operation& operation);
  Status ApplyRemoveFolder(const Operation& operation);
  Status ApplyMapShared(const Operation& operation);

  // The content that an operation on a file works on; null when it lies outside the folder.
  Result<Content> FindContent(const Operation& operation);
  Status AddEntry(const Operation& operation, const std::string& path, const FolderEntry& entry);
  [[nodiscard]] bool HasChildren(const std::string& path) const;
  // Takes the entry and all below it out of the map, by the rest of their paths.
  std::map<std::string, FolderEntry> Take(const std::string& path);
  void Put(const std::string& path, std::map<std::string, FolderEntry>&& subtree);
  [[nodiscard]] Status CheckSize(const Operation& operation, std::int64_t size_bytes) const;
  void Remember(const Operation& operation, const Content& content);

  std::map<std::string, FolderEntry> entries_;
  // Also of files that have lost their last name: somebody may still have them open.
  std::map<InodeKey, Content> inodes_;
  std::uint64_t max_bytes_ = std::uint64_t{1} << 30;  // of one file; bounds what a log can ask for
};

}  // namespace reprise

#endif  // REPRISE_HARNESS_EXPLORE_FOLDER_STATE_H_
