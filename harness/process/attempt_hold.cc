// Holds: one rank stays at the entry of an operation while the others run until they stand still.
//
// The held thread owns no turn, so that nothing of the others waits for it but what they wait for
// by themselves. Its operation has its address from the moment when it came. When the others are at
// rest decides only how far they got; what they did is in the log, and the folder is what the log
// says.

#include <fmt/format.h>

#include <algorithm>

#include "harness/process/attempt_run.h"

namespace reprise {
namespace {

// Of one CPU, of all processes together, while they only wait for the held rank.
constexpr int kStillCpuPermille = 50;

const char* InWords(Standstill::Reason reason) {
  switch (reason) {
    case Standstill::Reason::kStill:
      return "the other ranks stand still";
    case Standstill::Reason::kAllEnded:
      return "the other ranks have ended";
    case Standstill::Reason::kLimit:
      break;
  }
  return "the other ranks did not come to rest before the limit";
}

}  // namespace

void AttemptRun::BeginHold(const Tracee& tracee, const Operation& operation) {
  const Clock::time_point now = Clock::now();
  log_.AddFault(InjectorName(asking_), fmt::format("rank {} is held before {}", tracee.rank,
                                                   DescribeOperation(operation)));
  hold_ = Hold{.tid = tracee.tid,
               .group = tracee.group,
               .rank = tracee.rank,
               .address = operation.address,
               .injector = asking_,
               .since = now,
               .others_before = log_.OperationCountWithout(tracee.rank),
               .others = RestWatch(spec_.still_after, kStillCpuPermille, now),
               .behind = {}};
}

// Another thread of the held rank wants to make an operation: it waits behind the held one.
bool AttemptRun::WaitsBehindHold(const Tracee& tracee, const PendingCall& call) {
  if (!IsHolding() || hold_->rank != tracee.rank || !call.IsOperation()) {
    return false;
  }
  hold_->behind.push_back(tracee.tid);
  return true;
}

// Its operation was held, has its address, and is made now.
bool AttemptRun::IsReleased(const Tracee& tracee) const {
  return hold_ && hold_->is_released && hold_->tid == tracee.tid;
}

void AttemptRun::CheckHold(Clock::time_point now) {
  if (!IsHolding()) {
    return;
  }
  if (const auto reason = HoldIsOver(now)) {
    FinishHold(*reason);
  }
}

std::optional<Standstill::Reason> AttemptRun::HoldIsOver(Clock::time_point now) {
  bool others_ended = true;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    others_ended &= ranks_[i].has_ended || static_cast<int>(i) == hold_->rank;
  }
  if (others_ended) {
    return Standstill::Reason::kAllEnded;
  }
  if (now - hold_->since >= spec_.hold_limit) {
    return Standstill::Reason::kLimit;
  }
  if (!hold_->others.IsDue(now)) {
    return std::nullopt;
  }
  Activity activity = ActivityNow();
  activity.is_busy |= tracees_.AnyInCall(std::nullopt) || !waiting_.empty();
  if (!hold_->others.Sample(now, activity)) {
    return std::nullopt;
  }
  return Standstill::Reason::kStill;
}

void AttemptRun::FinishHold(Standstill::Reason reason) {
  const int rank = hold_->rank;
  const Standstill others{
      .reason = reason, .operation_count = log_.OperationCountWithout(rank) - hold_->others_before};
  const Action action = spec_.injectors[hold_->injector]->OnStandstill(others);
  const bool goes_on = action.kind == Action::Kind::kContinue;
  log_.AddFault(InjectorName(hold_->injector),
                fmt::format("{}, since {}; they made {} operations while rank {} was held",
                            goes_on ? fmt::format("rank {} goes on", rank) : DescribeKill(action),
                            InWords(reason), others.operation_count, rank));
  if (goes_on) {
    hold_->is_released = true;
    waiting_.push_front(hold_->tid);
    LetWaitingGoOn();
    return;
  }
  Execute(action, rank);
}

// Those behind the held thread take their turn after it.
void AttemptRun::LetWaitingGoOn() {
  const std::vector<pid_t> behind = std::move(hold_->behind);
  hold_->behind.clear();
  waiting_.insert(waiting_.end(), behind.begin(), behind.end());
  StartNextWaiting();
}

// The thread has ended, or its program was replaced.
void AttemptRun::ForgetHeldThread(pid_t tid) {
  if (!hold_) {
    return;
  }
  std::erase(hold_->behind, tid);
  if (hold_->tid == tid) {
    hold_->is_released = true;
    LetWaitingGoOn();
    hold_.reset();
  }
}

}  // namespace reprise
