// Decides that an attempt hangs: no watched event and no CPU time of any of its processes for a
// while.
//
// A process that waits in a loop with a short sleep uses CPU time and is not seen here; the
// attempt's hard limit ends it.

#ifndef REPRISE_HARNESS_PROCESS_HANG_WATCH_H_
#define REPRISE_HARNESS_PROCESS_HANG_WATCH_H_

#include <cstdint>
#include <set>
#include <string>

#include "harness/process/child_wait.h"

namespace reprise {

class HangWatch {
 public:
  HangWatch(std::chrono::milliseconds limit, Clock::time_point now)
      : limit_(limit), last_change_(now), next_sample_(now + Interval()) {}

  [[nodiscard]] bool IsDue(Clock::time_point now) const { return now >= next_sample_; }
  [[nodiscard]] Clock::time_point NextSample() const { return next_sample_; }

  // Takes one sample; true when nothing has changed for the limit.
  bool Sample(Clock::time_point now, std::int64_t event_count, std::uint64_t cpu_ticks);

 private:
  [[nodiscard]] std::chrono::milliseconds Interval() const {
    return std::max<std::chrono::milliseconds>(limit_ / 8, std::chrono::milliseconds(5));
  }

  std::chrono::milliseconds limit_;
  Clock::time_point last_change_;
  Clock::time_point next_sample_;
  std::int64_t event_count_ = -1;
  std::uint64_t cpu_ticks_ = 0;
};

// CPU time of all these processes.
std::uint64_t CpuTicksOf(const std::set<pid_t>& processes);

// Where all threads of these processes are, for a person to read; at most 1 MiB.
std::string DescribeProcesses(const std::set<pid_t>& processes);

}  // namespace reprise

#endif  // REPRISE_HARNESS_PROCESS_HANG_WATCH_H_
