// A watched call between its entry and its exit stop.

#ifndef REPRISE_HARNESS_PROCESS_PENDING_CALL_H_
#define REPRISE_HARNESS_PROCESS_PENDING_CALL_H_

#include <sys/uio.h>

#include <string>
#include <vector>

#include "harness/model/operation.h"
#include "harness/process/inject_call.h"
#include "harness/process/proc_files.h"
#include "harness/process/watched_calls.h"

namespace reprise {

// What the file of a call is to us.
enum class Place { kNone, kCheckpoint, kLogbook, kOutput };

struct PendingCall {
  const CallShape* shape = nullptr;
  Place place = Place::kNone;
  CallArguments arguments = {};
  int fd = -1;
  FileKey key;
  Operation operation;  // of kCheckpoint
  std::string real_path;
  std::string second_real_path;
  int open_flags = 0;
  std::vector<iovec> vectors;  // of a write: where its data lies
  int stream_rank = 0;         // of kOutput: whose file it is, and which
  int stream = 0;

  // Changes names or content: one such call at a time, so that their order is known.
  [[nodiscard]] bool IsExclusive() const;
  // Its result may be a descriptor of a watched file.
  [[nodiscard]] bool MakesDescriptor() const {
    return shape->role == CallRole::kOpen || shape->role == CallRole::kDuplicate;
  }
  // It is logged as an operation, with an address.
  [[nodiscard]] bool IsOperation() const {
    return place == Place::kCheckpoint && shape->role != CallRole::kDuplicate;
  }
  [[nodiscard]] std::uint64_t Argument(int position) const {
    return position < 0 ? 0 : arguments[static_cast<std::size_t>(position)];
  }
};

inline bool PendingCall::IsExclusive() const {
  if (!IsOperation()) {
    return false;
  }
  switch (operation.kind) {
    case OperationKind::kSync:
    case OperationKind::kSyncRange:
    case OperationKind::kAttributes:
    case OperationKind::kMapShared:
      return false;
    // Also an open that makes nothing: which file its name means depends on what comes before.
    case OperationKind::kOpen:
    case OperationKind::kWrite:
    case OperationKind::kTruncate:
    case OperationKind::kAllocate:
    case OperationKind::kRename:
    case OperationKind::kLink:
    case OperationKind::kSymlink:
    case OperationKind::kUnlink:
    case OperationKind::kMakeFolder:
    case OperationKind::kRemoveFolder:
      return true;
  }
  return true;
}

}  // namespace reprise

#endif  // REPRISE_HARNESS_PROCESS_PENDING_CALL_H_
