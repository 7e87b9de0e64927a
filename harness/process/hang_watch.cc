#include "harness/process/hang_watch.h"

#include "harness/process/proc_files.h"

namespace reprise {
namespace {

constexpr std::size_t kMaxDescriptionBytes = 1U << 20U;

}  // namespace

bool HangWatch::Sample(Clock::time_point now, std::int64_t event_count, std::uint64_t cpu_ticks) {
  next_sample_ = now + Interval();
  if (event_count != event_count_ || cpu_ticks != cpu_ticks_) {
    event_count_ = event_count;
    cpu_ticks_ = cpu_ticks;
    last_change_ = now;
    return false;
  }
  return now - last_change_ >= limit_;
}

std::uint64_t CpuTicksOf(const std::set<pid_t>& processes) {
  std::uint64_t ticks = 0;
  for (const pid_t pid : processes) {
    ticks += CpuTicks(pid);
  }
  return ticks;
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
