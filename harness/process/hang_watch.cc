#include "harness/process/hang_watch.h"

#include "harness/process/proc_files.h"

namespace reprise {
namespace {

constexpr std::size_t kMaxDescriptionBytes = 1U << 20U;

}  // namespace

bool RestWatch::HasChanged(Clock::time_point now, const Activity& seen) const {
  if (seen.is_busy || seen.event_count != at_change_.event_count) {
    return true;
  }
  const std::chrono::nanoseconds used = seen.cpu_time - at_change_.cpu_time;
  return used < used.zero() || used * 1000 > (now - last_change_) * permille_;
}

bool RestWatch::Sample(Clock::time_point now, const Activity& seen) {
  next_sample_ = now + Interval();
  if (HasChanged(now, seen)) {
    at_change_ = seen;
    last_change_ = now;
    return false;
  }
  return now - last_change_ >= limit_;
}

Activity ActivityOf(const std::set<pid_t>& processes, std::int64_t event_count) {
  Activity activity{.event_count = event_count};
  for (const pid_t pid : processes) {
    activity.cpu_time += CpuTimeOf(pid);
    activity.is_busy |= HasBusyThread(pid);
  }
  return activity;
}

std::string DescribeProcesses(const std::set<pid_t>& processes) {
  std::string text;
  for (const pid_t pid : processes) {
    if (text.size() < kMaxDescriptionBytes) {
      text += DescribeThreads(pid);
    }
  }
  text.resize(std::min(text.size(), kMaxDescriptionBytes));
  return text;
}

}  // namespace reprise
