// The seccomp filter (seccomp(2)) that stops exactly the watched calls; everything else, network
// traffic above all, runs free.

#ifndef REPRISE_HARNESS_PROCESS_FILTER_H_
#define REPRISE_HARNESS_PROCESS_FILTER_H_

#include <linux/filter.h>

#include <vector>

#include "harness/base/result.h"

namespace reprise {

// A program for seccomp(SECCOMP_SET_MODE_FILTER), built in the parent: nothing is allocated between
// fork and exec. Calls of another architecture (32-bit programs, x32) get ENOSYS, because their
// numbers mean something else.
Result<std::vector<sock_filter>> BuildFilter();

// A second program for a process that has put a watched descriptor at a low number (dup2), where
// the first one does not look: stops the calls on descriptors from 3 to 599 too.
Result<std::vector<sock_filter>> BuildLowDescriptorFilter();

}  // namespace reprise

#endif  // REPRISE_HARNESS_PROCESS_FILTER_H_
