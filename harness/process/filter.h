// The seccomp filter (seccomp(2)) that stops exactly the watched calls; everything else, network
// traffic above all, runs free.

#ifndef REPRISE_HARNESS_PROCESS_FILTER_H_
#define REPRISE_HARNESS_PROCESS_FILTER_H_

#include <linux/filter.h>

#include <vector>

#include "harness/base/result.h"
#include "harness/process/watched_calls.h"

namespace reprise {

// What PTRACE_GETEVENTMSG gives at the stop of a filter.
constexpr unsigned long kWatchedCallStop = 1;
constexpr unsigned long kForeignCallStop = 2;

// Programs for seccomp(SECCOMP_SET_MODE_FILTER), built in the parent: nothing is allocated between
// fork and exec. Each stops calls of another architecture too (32-bit programs, x32), whose numbers
// mean something else: they are to be denied. `calls` is WatchedCalls() but in tests.

// The one that every rank has: watched descriptors, and writes to standard output and error.
Result<std::vector<sock_filter>> BuildFilter(const std::vector<CallShape>& calls);

// A further one for a process that has put a watched descriptor at a low number (dup2), where the
// first one does not look: stops the calls on descriptors from 3 to 599 too, those on sockets among
// them.
Result<std::vector<sock_filter>> BuildLowDescriptorFilter(const std::vector<CallShape>& calls);

// The same for descriptors 0 to 2, which a shell's redirections use: costs no stop at a socket.
Result<std::vector<sock_filter>> BuildStandardDescriptorFilter(const std::vector<CallShape>& calls);

}  // namespace reprise

#endif  // REPRISE_HARNESS_PROCESS_FILTER_H_
