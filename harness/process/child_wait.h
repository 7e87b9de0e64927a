// Waits for the next report of any child or tracee, with a deadline and without polling.
//
// SIGCHLD is blocked while an object lives, so that no report is missed between looking and
// sleeping.

#ifndef REPRISE_HARNESS_PROCESS_CHILD_WAIT_H_
#define REPRISE_HARNESS_PROCESS_CHILD_WAIT_H_

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <optional>

#include "harness/base/unique_fd.h"

namespace reprise {

using Clock = std::chrono::steady_clock;

struct WaitReport {
  pid_t tid = 0;
  int status = 0;  // as of waitpid(2)
  rusage usage{};  // of a process that has ended

  [[nodiscard]] bool HasEnded() const;
};

class ChildWait {
 public:
  ChildWait();
  ChildWait(const ChildWait&) = delete;
  ChildWait& operator=(const ChildWait&) = delete;
  ~ChildWait();

  // Nothing when `timeout` has passed, a signal has interrupted the wait, or `readable` (-1: none)
  // has become readable.
  std::optional<WaitReport> Next(std::chrono::milliseconds timeout, int readable = -1);

  // What is there already.
  static std::optional<WaitReport> TryNext();

 private:
  void Sleep(std::chrono::milliseconds timeout, int readable);

  sigset_t previous_{};
  sigset_t child_signal_{};
  UniqueFd signal_descriptor_;
};

}  // namespace reprise

#endif  // REPRISE_HARNESS_PROCESS_CHILD_WAIT_H_
