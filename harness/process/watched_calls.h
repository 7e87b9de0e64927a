// The system calls that the tracer stops at, as one table: what the filter tests and what the
// decoder reads of each.
//
// x86-64 numbers. A call that is not here runs free, so what it does to the checkpoint folder is
// not in the log; docs/architecture.md lists what that leaves out.

#ifndef REPRISE_HARNESS_PROCESS_WATCHED_CALLS_H_
#define REPRISE_HARNESS_PROCESS_WATCHED_CALLS_H_

#include <vector>

#include "harness/model/operation.h"

namespace reprise {

// Watched descriptors live at this number and above, so that the filter tells them from sockets.
constexpr int kFirstWatchedDescriptor = 600;

// When the filter stops a call, and how its arguments are read.
enum class CallRole {
  kOpen,         // with flags for writing or creating
  kWrite,        // descriptor 1, 2 or a watched one; data in memory
  kWriteVector,  // the same with iovecs
  kCopy,         // the same, data from another descriptor
  kDescriptor,   // a watched descriptor
  kSync,         // any descriptor: folders are opened read-only to be synced
  kPath,         // always
  kMap,          // shared, of a watched descriptor
  kClone,        // ioctl(FICLONE, FICLONERANGE) into a watched descriptor
  kDuplicate,    // of a watched descriptor
  kDenied,       // always; answered with ENOSYS, because its writes could not be seen
  kTold,         // always; let through and said, because what follows may be seen wrongly
};

// Positions of arguments (0 to 5); -1: the call has none.
struct CallShape {
  long number;
  const char* name;
  CallRole role;
  OperationKind kind = OperationKind::kOpen;  // of the operation that is logged
  int fd = -1;
  int folder = -1;  // descriptor that a relative path starts from
  int path = -1;
  int second_folder = -1;
  int second_path = -1;
  int flags = -1;
  int mode = -1;
  int buffer = -1;  // data, iovecs, or the pointer to the out-offset of a copy
  int count = -1;   // bytes, or number of iovecs
  int offset = -1;
  int size = -1;  // new size, length of a range
  // Of kTold: what a person must know.
  const char* remark = nullptr;
};

const std::vector<CallShape>& WatchedCalls();

// Null when it is not watched.
const CallShape* FindWatchedCall(long number);

}  // namespace reprise

#endif  // REPRISE_HARNESS_PROCESS_WATCHED_CALLS_H_
