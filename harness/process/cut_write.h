// Shortens a write that is stopped at its entry, so that only its first bytes reach the file.

#ifndef REPRISE_HARNESS_PROCESS_CUT_WRITE_H_
#define REPRISE_HARNESS_PROCESS_CUT_WRITE_H_

#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>

#include "harness/process/pending_call.h"

namespace reprise {

// Changes registers (and iovecs in the tracee's memory) of the stopped thread. False when the call
// cannot be shortened: it is no write, or its memory is not writable.
// REQUIRES: 0 < bytes < call.operation.length_bytes.
bool CutWrite(pid_t tid, user_regs_struct registers, const PendingCall& call, std::int64_t bytes);

}  // namespace reprise

#endif  // REPRISE_HARNESS_PROCESS_CUT_WRITE_H_
