#include "harness/process/child_wait.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

namespace reprise {

bool WaitReport::HasEnded() const { return WIFEXITED(status) || WIFSIGNALED(status); }

ChildWait::ChildWait() {
  sigemptyset(&child_signal_);
  sigaddset(&child_signal_, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &child_signal_, &previous_);
  signal_descriptor_ = UniqueFd(signalfd(-1, &child_signal_, SFD_CLOEXEC | SFD_NONBLOCK));
}

ChildWait::~ChildWait() { pthread_sigmask(SIG_SETMASK, &previous_, nullptr); }

std::optional<WaitReport> ChildWait::Next(std::chrono::milliseconds timeout, int readable) {
  if (auto report = TryNext()) {
    return report;
  }
  Sleep(timeout, readable);
  return TryNext();
}

std::optional<WaitReport> ChildWait::TryNext() {
  WaitReport report;
  report.tid = wait4(-1, &report.status, WNOHANG | __WALL, &report.usage);
  return report.tid > 0 ? std::optional<WaitReport>(report) : std::nullopt;
}

void ChildWait::Sleep(std::chrono::milliseconds timeout, int readable) {
  const auto milliseconds = std::max<std::int64_t>(timeout.count(), 0);
  if (readable < 0) {
    const timespec limit = {milliseconds / 1000, (milliseconds % 1000) * 1'000'000};
    sigtimedwait(&child_signal_, nullptr, &limit);
    return;
  }
  pollfd descriptors[] = {{signal_descriptor_.Get(), POLLIN, 0}, {readable, POLLIN, 0}};
  if (poll(descriptors, 2, static_cast<int>(milliseconds)) > 0 && descriptors[0].revents != 0) {
    const timespec now = {0, 0};
    sigtimedwait(&child_signal_, nullptr, &now);
  }
}

}  // namespace reprise
