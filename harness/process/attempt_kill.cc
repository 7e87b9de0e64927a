#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <csignal>

#include "harness/base/check.h"
#include "harness/process/attempt_run.h"
#include "harness/process/cut_write.h"

namespace reprise {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kDrainLimit{10'000};  // an fsync of a slow disk
constexpr milliseconds kReapLimit{20'000};
constexpr milliseconds kSweepWait{20};
constexpr int kMaxSweeps = 500;

}  // namespace

std::string DescribeOperation(const Operation& operation) {
  const OperationAddress& at = operation.address;
  std::string text = fmt::format("rank {}, save {}, operation {} ({} {}", at.rank, at.save, at.n,
                                 operation.call, operation.path);
  if (!operation.second_path.empty()) {
    text += " -> " + operation.second_path;
  }
  return text + ")";
}

std::string DescribeKill(const Action& action) {
  return action.kind == Action::Kind::kKillAllRanks
             ? std::string("SIGKILL to all ranks")
             : fmt::format("SIGKILL to rank {}", action.rank);
}

std::string AttemptRun::InjectorName(std::size_t index) const {
  return index < spec_.injector_names.size() ? spec_.injector_names[index]
                                             : fmt::format("injector {}", index);
}

// Logs the fault and says when its kill takes place. A cut inside a write is possible only where
// the writer itself is killed; of no bytes, or of a call that writes none, it is a kill before the
// call.
AttemptRun::CutOutcome AttemptRun::PrepareCut(const Tracee& tracee, const PendingCall& call,
                                              const user_regs_struct& registers, Action& action) {
  const Operation& operation = call.operation;
  const bool kills_writer =
      action.kind == Action::Kind::kKillAllRanks || action.rank == tracee.rank;
  CutPoint cut = action.cut;
  std::string when;
  if (cut.kind == CutPoint::Kind::kBytes) {
    const bool inside = kills_writer && cut.bytes > 0 && cut.bytes < operation.length_bytes;
    if (cut.bytes >= operation.length_bytes && operation.kind == OperationKind::kWrite) {
      cut.kind = CutPoint::Kind::kAfter;
    } else if (inside && CutWrite(tracee.tid, registers, call, cut.bytes)) {
      when = fmt::format("after {} of {} bytes of", cut.bytes, operation.length_bytes);
    } else {
      cut.kind = CutPoint::Kind::kBefore;
    }
  }
  if (when.empty()) {
    when = cut.kind == CutPoint::Kind::kBefore ? "before" : "after";
  }
  action.cut = cut;
  log_.AddFault(InjectorName(asking_),
                fmt::format("{} {} {}", DescribeKill(action), when, DescribeOperation(operation)));
  return cut.kind == CutPoint::Kind::kBefore ? CutOutcome::kKillNow : CutOutcome::kKillAfterwards;
}

// False when the rank of the stopped thread is dead afterwards.
bool AttemptRun::Execute(const Action& action, int own_rank) {
  switch (action.kind) {
    case Action::Kind::kContinue:
      return true;
    case Action::Kind::kKillAllRanks:
      result_.end = AttemptEnd::kFault;
      KillAll(RankEnd::kKilledByFault);
      return false;
    case Action::Kind::kKillOneRank:
      if (action.rank < 0 || action.rank >= static_cast<int>(ranks_.size())) {
        return true;
      }
      result_.end = AttemptEnd::kFault;
      KillRank(action.rank, RankEnd::kKilledByFault);
      return action.rank != own_rank;
    case Action::Kind::kHoldRank:
      REPRISE_CHECK(false, "a rank can be held only before an operation");
  }
  return true;
}

void AttemptRun::KillAll(RankEnd why) {
  hold_.reset();  // a held thread makes its call no more: it is killed at the entry
  Drain(std::nullopt);
  for (Rank& rank : ranks_) {
    if (!rank.has_ended && !rank.killed) {
      rank.killed = why;
    }
  }
  waiting_.clear();
  SignalGroups(std::nullopt);
  ReapAll();
}

void AttemptRun::KillRank(int rank, RankEnd why) {
  if (hold_ && hold_->rank == rank) {
    hold_.reset();
  }
  Drain(rank);
  Rank& state = ranks_[static_cast<std::size_t>(rank)];
  if (!state.has_ended && !state.killed) {
    state.killed = why;
  }
  std::erase_if(waiting_, [&](pid_t tid) {
    const Tracee* const tracee = tracees_.Find(tid);
    return tracee == nullptr || tracee->rank == rank;
  });
  SignalGroups(rank);
  peers_deadline_ = Clock::now() + spec_.peers_grace;
}

void AttemptRun::SignalGroups(std::optional<int> rank) {
  for (const pid_t group : tracees_.Groups(rank)) {
    kill(group, SIGKILL);
  }
}

// Brings every call that is under way to its end, and leaves its thread stopped there.
void AttemptRun::Drain(std::optional<int> rank) {
  const Clock::time_point deadline = Clock::now() + kDrainLimit;
  std::deque<WaitReport> earlier;
  std::swap(earlier, deferred_);
  for (const WaitReport& report : earlier) {
    DrainOne(report, rank);
  }
  while (tracees_.AnyInCall(rank)) {
    if (Clock::now() >= deadline) {
      log_.AddBlindSpot(
          "a call was still under way when the ranks were killed; how much of it was "
          "done is not known");
      return;
    }
    if (const auto report = wait_.Next(milliseconds(50))) {
      DrainOne(*report, rank);
    }
  }
}

void AttemptRun::DrainOne(const WaitReport& report, std::optional<int> rank) {
  if (report.HasEnded()) {
    OnEnd(report);
    return;
  }
  Tracee* const tracee = tracees_.Find(report.tid);
  const bool is_exit = WSTOPSIG(report.status) == (SIGTRAP | 0x80);
  if (tracee == nullptr || !tracee->call || !is_exit || !Selects(rank, tracee->rank)) {
    deferred_.push_back(report);
    return;
  }
  ++result_.tracer_stop_count;
  user_regs_struct registers{};
  if (ptrace(PTRACE_GETREGS, tracee->tid, nullptr, &registers) == 0) {
    CompleteCall(*tracee, registers, false);
  }
}

// Until nothing of the attempt is left.
void AttemptRun::ReapAll() {
  const Clock::time_point deadline = Clock::now() + kReapLimit;
  while (!tracees_.Groups(std::nullopt).empty() && Clock::now() < deadline) {
    const auto report = NextReport(milliseconds(50));
    if (!report) {
      SignalGroups(std::nullopt);
      continue;
    }
    if (report->HasEnded()) {
      OnEnd(*report);
      continue;
    }
    Tracee* tracee = tracees_.Find(report->tid);
    if (tracee == nullptr) {
      tracee = &tracees_.Add(report->tid, GroupOf(report->tid).value_or(report->tid), kStrayRank);
    }
    if (tracee->rank == kServerRank) {
      OnStop(*tracee, report->status);
    } else {
      kill(tracee->group, SIGKILL);
    }
  }
}

// Children that came to us as subreaper without a tracer's report (CLONE_UNTRACED).
void AttemptRun::SweepStrays() {
  for (int i = 0; i < kMaxSweeps; ++i) {
    bool any = false;
    for (const pid_t child : OwnChildren()) {
      if (!foreign_children_.contains(child)) {
        any = true;
        kill(child, SIGKILL);
      }
    }
    if (!any) {
      return;
    }
    if (const auto report = wait_.Next(kSweepWait)) {
      if (report->HasEnded()) {
        OnEnd(*report);
      } else if (Tracee* const tracee = tracees_.Find(report->tid)) {
        OnStop(*tracee, report->status);
      }
    }
  }
}

}  // namespace reprise
