// A file operation below the checkpoint folder, as the tracer saw it, and its address in the run.

#ifndef REPRISE_HARNESS_MODEL_OPERATION_H_
#define REPRISE_HARNESS_MODEL_OPERATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/result.h"

namespace reprise {

enum class OperationKind {
  kOpen,       // open, openat, openat2, creat for writing or creating; see OperationFlags
  kWrite,      // write, pwrite, writev, …; copy_file_range, sendfile and splice, with their data
  kTruncate,   // truncate, ftruncate
  kAllocate,   // fallocate
  kSync,       // fsync, fdatasync, syncfs, sync, O_SYNC is a flag of the open
  kSyncRange,  // sync_file_range, msync: no durability by itself
  kRename,     // path -> second_path
  kLink,       // second_path becomes another name of path
  kSymlink,    // second_path becomes a link with the text path
  kUnlink,
  kMakeFolder,
  kRemoveFolder,
  kAttributes,  // chmod, chown, utimes
  kMapShared,   // writable shared mapping: the file's content is opaque from here on
};

std::string_view ToText(OperationKind kind);
std::optional<OperationKind> ParseOperationKind(std::string_view text);

// What is reproducible about an operation: the n-th of a rank inside the ordinal-th save of that
// rank. The one global order of several ranks is not. All three count from 0.
struct OperationAddress {
  int rank = 0;
  int save = 0;
  int n = 0;

  // "rank/save/n"
  static Result<OperationAddress> Parse(std::string_view text);
  [[nodiscard]] std::string ToText() const;
  // NOLINTNEXTLINE(modernize-use-nullptr): the check takes the comparison for a null pointer
  friend auto operator<=>(const OperationAddress&, const OperationAddress&) = default;
};

struct Operation {
  OperationKind kind = OperationKind::kOpen;
  OperationAddress address;
  int pid = 0;
  std::string call;  // name of the system call: "pwrite64"
  // Relative to the checkpoint folder ("." is the folder itself); absolute when outside of it.
  // Empty for a file that has no name (any more), and for sync, which concerns everything.
  std::string path;
  std::string second_path;  // of rename, link, symlink; the same form
  // Device and inode of the file, where it has one at that time; files are renamed under their
  // paths.
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t offset_bytes =
      0;  // of writes (resolved for the file position and O_APPEND), allocations
  std::int64_t length_bytes = 0;  // bytes that were written; new size of a truncate
  std::int64_t result = 0;        // of the call; negative errno for a failure
  bool creates = false;    // open: O_CREAT and the file did not exist; rename: nothing replaced
  bool truncates = false;  // open: O_TRUNC
  bool excludes = false;   // open: O_EXCL; rename: RENAME_NOREPLACE
  bool exchanges = false;  // rename: RENAME_EXCHANGE
  unsigned mode = 0;       // permission bits of what it creates; flags of fallocate(2)
  // Of writes: the bytes, when data is recorded. Of a rename or link that brings in a file from
  // outside (`path` absolute or empty): the whole content of that file at this moment. A folder
  // that is renamed in comes as operations of its own with the same address and call, in place of
  // the rename: kMakeFolder, then kOpen (creates) and one kWrite for each file in it.
  std::string data;
};

}  // namespace reprise

#endif  // REPRISE_HARNESS_MODEL_OPERATION_H_
