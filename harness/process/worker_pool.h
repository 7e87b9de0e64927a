// Runs independent pieces of work in forked worker processes.
//
// A supervisor owns waitpid(2) of its process, so two cases at a time need two processes. Workers
// are forked from the parent's memory: what the parent has loaded needs no transfer. A worker that
// dies costs its piece of work an error, not the campaign; no worker outlives the parent
// (PR_SET_PDEATHSIG), and what a worker traces does not outlive the worker.

#ifndef REPRISE_HARNESS_PROCESS_WORKER_POOL_H_
#define REPRISE_HARNESS_PROCESS_WORKER_POOL_H_

#include <cstddef>
#include <functional>
#include <string>

#include "harness/base/result.h"

namespace reprise {

// Computes the piece with this index; runs in a worker.
using Work = std::function<std::string(std::size_t index)>;

// Gets each result in the parent, in the order of completion. kSystem: the worker died. Returning
// false hands out no further pieces (those in work are still delivered).
using OnWorkDone = std::function<bool(std::size_t index, Result<std::string> result)>;

// Runs the pieces 0 … count-1 on at most `jobs` workers, handed out in ascending order. `make_work`
// is called once in each worker. Fails with kDeadline when the process was asked to stop (stop.h);
// then nothing of the workers is left. REQUIRES: single-threaded caller.
Status RunInWorkers(std::size_t count, int jobs, const std::function<Work()>& make_work,
                    const OnWorkDone& on_done);

}  // namespace reprise

#endif  // REPRISE_HARNESS_PROCESS_WORKER_POOL_H_
