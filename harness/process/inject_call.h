// Makes a stopped tracee execute a system call of ours (ptrace(2)), and the two uses of that:
// moving a watched descriptor to a high number, and adding a second seccomp filter.

#ifndef REPRISE_HARNESS_PROCESS_INJECT_CALL_H_
#define REPRISE_HARNESS_PROCESS_INJECT_CALL_H_

#include <linux/filter.h>
#include <sys/types.h>
#include <sys/user.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace reprise {

using CallArguments = std::array<std::uint64_t, 6>;

CallArguments ArgumentsOf(const user_regs_struct& registers);

// Result of the call (negative errno for a failure). `registers` are those of the exit stop at
// which the thread is; they are set again afterwards. Nothing when the thread ended instead: its
// end is still to be waited for. Signals that arrive meanwhile stay pending. REQUIRES: `tid` is at
// a syscall-exit stop.
std::optional<long> InjectCall(pid_t tid, const user_regs_struct& registers, long number,
                               const CallArguments& arguments);

// Moves descriptor `low` of the tracee to the first free number from kFirstWatchedDescriptor on.
// Returns the new number, a negative errno (it stays where it was), or nothing as above.
std::optional<long> MoveDescriptor(pid_t tid, const user_regs_struct& registers, int low,
                                   bool close_on_exec);

// Adds `program` to all threads of the process, as seccomp(2) does. 0 or a negative errno.
std::optional<long> AddFilter(pid_t tid, const user_regs_struct& registers,
                              const std::vector<sock_filter>& program);

}  // namespace reprise

#endif  // REPRISE_HARNESS_PROCESS_INJECT_CALL_H_
