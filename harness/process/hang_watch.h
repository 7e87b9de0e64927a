// Decides that processes have come to rest: no watched event, next to no CPU time, and no thread
// that runs, could run or waits for a disk, for a while.
//
// Used for an attempt that hangs, and for the ranks that wait for one that is held. A share of CPU
// time is tolerated, because threads that only poll wake up all the time (Gloo's, a hundred times a
// second) and never do anything.

#ifndef REPRISE_HARNESS_PROCESS_HANG_WATCH_H_
#define REPRISE_HARNESS_PROCESS_HANG_WATCH_H_

#include <cstdint>
#include <set>
#include <string>

#include "harness/process/child_wait.h"

namespace reprise {

// What can be seen of some processes at one moment.
struct Activity {
  std::int64_t event_count = 0;          // watched events so far
  std::chrono::nanoseconds cpu_time{0};  // of all of them together
  bool is_busy = false;                  // work is under way
};

class RestWatch {
 public:
  // At rest: less than `tolerated_cpu_permille` of one CPU for `limit`.
  RestWatch(std::chrono::milliseconds limit, int tolerated_cpu_permille, Clock::time_point now)
      : limit_(limit),
        permille_(tolerated_cpu_permille),
        last_change_(now),
        next_sample_(now + Interval()) {}

  [[nodiscard]] bool IsDue(Clock::time_point now) const { return now >= next_sample_; }
  [[nodiscard]] Clock::time_point NextSample() const { return next_sample_; }

  // Takes one sample; true when they have been at rest for the limit.
  bool Sample(Clock::time_point now, const Activity& seen);

 private:
  [[nodiscard]] std::chrono::milliseconds Interval() const {
    return std::max<std::chrono::milliseconds>(limit_ / 8, std::chrono::milliseconds(5));
  }
  [[nodiscard]] bool HasChanged(Clock::time_point now, const Activity& seen) const;

  std::chrono::milliseconds limit_;
  int permille_;
  Clock::time_point last_change_;
  Clock::time_point next_sample_;
  Activity at_change_{.event_count = -1};
};

// CPU time and threads of these processes.
Activity ActivityOf(const std::set<pid_t>& processes, std::int64_t event_count);

// Where all threads of these processes are, for a person to read; at most 1 MiB.
std::string DescribeProcesses(const std::set<pid_t>& processes);

}  // namespace reprise

#endif  // REPRISE_HARNESS_PROCESS_HANG_WATCH_H_
