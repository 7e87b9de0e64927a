// The content of a checkpoint folder as an operation log predicts it. Pure: starts no process, reads
// no file of the target.
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
#include <vector>

#include "harness/base/result.h"
#include "harness/model/operation.h"

namespace reprise {

enum class EntryKind { kFile, kFolder, kSymlink };

struct FolderEntry {
  EntryKind kind = EntryKind::kFile;
  std::shared_ptr<std::string> content;  // of a file (shared by hard links), or a link's text
  bool opaque = false;                   // written through a mapping: content is not known
};

// Entries by path relative to the folder.
class FolderState {
 public:
  // What is on disk now. Bounded by `max_bytes` in all.
  static Result<FolderState> Scan(const std::filesystem::path& folder, std::uint64_t max_bytes);

  // Applies one completed operation; failed ones (negative result) change nothing. kCorrupt when the
  // operation does not fit the state: then the log is incomplete.
  Status Apply(const Operation& operation);

  // Where two states differ, in words, one line per path; empty when they are equal byte for byte.
  [[nodiscard]] std::vector<std::string> DifferencesFrom(const FolderState& other) const;

  [[nodiscard]] const std::map<std::string, FolderEntry>& Entries() const { return entries_; }

 private:
  std::map<std::string, FolderEntry> entries_;
};

}  // namespace reprise

#endif  // REPRISE_HARNESS_EXPLORE_FOLDER_STATE_H_
