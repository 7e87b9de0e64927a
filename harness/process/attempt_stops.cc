#include <sys/ptrace.h>
#include <sys/wait.h>

#include <csignal>

#include "harness/process/attempt_run.h"

namespace reprise {
namespace {

constexpr int kSyscallStop = SIGTRAP | 0x80;  // PTRACE_O_TRACESYSGOOD

bool IsGroupStop(int signal_number) {
  return signal_number == SIGSTOP || signal_number == SIGTSTP || signal_number == SIGTTIN ||
         signal_number == SIGTTOU;
}

pid_t EventMessage(pid_t tid) {
  unsigned long message = 0;
  return ptrace(PTRACE_GETEVENTMSG, tid, nullptr, &message) == 0 ? static_cast<pid_t>(message) : 0;
}

std::chrono::microseconds CpuTimeOf(const rusage& usage) {
  const auto sum = [](const timeval& time) {
    return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
  };
  return sum(usage.ru_utime) + sum(usage.ru_stime);
}

}  // namespace

void AttemptRun::Dispatch(const WaitReport& report) {
  ++result_.tracer_stop_count;
  if (report.HasEnded()) {
    --result_.tracer_stop_count;
    OnEnd(report);
    return;
  }
  Tracee* const tracee = tracees_.Find(report.tid);
  if (tracee == nullptr) {
    unannounced_[report.tid] = report.status;
    return;
  }
  OnStop(*tracee, report.status);
}

void AttemptRun::OnEnd(const WaitReport& report) {
  unannounced_.erase(report.tid);
  Tracee* const tracee = tracees_.Find(report.tid);
  if (tracee != nullptr) {
    if (tracee->call && tracee->call->IsOperation()) {
      log_.AddBlindSpot("an operation (" + tracee->call->operation.call + " " +
                        tracee->call->operation.path +
                        ") was under way when its process ended; its effect is not known");
    }
    if (tracee->rank >= 0) {
      auto& rank = ranks_[static_cast<std::size_t>(tracee->rank)];
      rank.result.peak_memory_bytes =
          std::max(rank.result.peak_memory_bytes, std::int64_t{report.usage.ru_maxrss} * 1024);
    }
    tracees_.Remove(report.tid);
  }
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (ranks_[i].first == report.tid && !ranks_[i].has_ended) {
      OnRankEnd(ranks_[i], static_cast<int>(i), report);
    }
  }
  std::erase(waiting_, report.tid);
  ForgetHeldThread(report.tid);
  GiveUpOwnership(report.tid);
}

void AttemptRun::OnRankEnd(Rank& rank, int /*number*/, const WaitReport& report) {
  rank.has_ended = true;
  rank.result.cpu_time = CpuTimeOf(report.usage);
  if (WIFEXITED(report.status)) {
    rank.result.end = RankEnd::kExited;
    rank.result.status = WEXITSTATUS(report.status);
    return;
  }
  rank.result.status = WTERMSIG(report.status);
  const bool by_us = rank.killed && rank.result.status == SIGKILL;
  rank.result.end = by_us ? *rank.killed : RankEnd::kSignalled;
}

void AttemptRun::OnStop(Tracee& tracee, int status) {
  const int event = status >> 16;
  const int signal_number = WSTOPSIG(status);
  const bool is_dying = tracee.rank >= 0 && ranks_.size() > static_cast<std::size_t>(tracee.rank) &&
                        ranks_[static_cast<std::size_t>(tracee.rank)].killed.has_value();
  if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK || event == PTRACE_EVENT_CLONE) {
    OnNewTracee(tracee);
  }
  if (is_dying) {
    kill(tracee.group, SIGKILL);
    return;
  }
  if (event == PTRACE_EVENT_SECCOMP) {
    OnEntry(tracee);
  } else if (signal_number == kSyscallStop) {
    OnExit(tracee);
  } else if (event == PTRACE_EVENT_EXEC) {
    OnExec(tracee);
  } else if (event == PTRACE_EVENT_STOP) {
    OnEventStop(tracee, signal_number);
  } else if (event != 0) {
    Resume(tracee);
  } else {
    Resume(tracee, signal_number);
  }
}

void AttemptRun::OnNewTracee(const Tracee& parent) {
  const pid_t tid = EventMessage(parent.tid);
  const std::optional<pid_t> group = tid != 0 ? GroupOf(tid) : std::nullopt;
  if (!group) {
    return;  // ended already, or its parent did; a stray is found by the last sweep
  }
  int rank = parent.rank;
  const bool is_process = *group != parent.group;
  if (rank == kServerRank && is_process && forking_rank_ != kServerRank) {
    rank = std::exchange(forking_rank_, kServerRank);
    Rank started;
    started.first = tid;
    ranks_.push_back(std::move(started));
  }
  const Tracee child = tracees_.Add(tid, *group, rank);
  for (std::set<pid_t>* const watched : {&low_watched_, &standard_watched_}) {
    if (is_process && watched->contains(parent.group)) {
      watched->insert(*group);
    }
  }
  if (rank >= 0 && ranks_[static_cast<std::size_t>(rank)].killed) {
    kill(child.group, SIGKILL);
  } else if (const auto early = unannounced_.find(tid); early != unannounced_.end()) {
    unannounced_.erase(early);
    Resume(child);
  }
}

void AttemptRun::OnExec(Tracee& tracee) {
  const pid_t former = EventMessage(tracee.tid);
  const int rank = tracee.rank;
  const pid_t group = tracee.group;
  if (former != 0 && former != tracee.tid) {
    GiveUpOwnership(former);
    std::erase(waiting_, former);
  }
  if (hold_ && hold_->group == group) {
    ForgetHeldThread(hold_->tid);  // the new program has no thread that is held
  }
  tracees_.KeepOnlyLeader(group);
  Resume(tracees_.Add(group, group, rank));
}

void AttemptRun::OnEventStop(const Tracee& tracee, int signal_number) {
  if (IsGroupStop(signal_number)) {
    ptrace(PTRACE_LISTEN, tracee.tid, nullptr, nullptr);  // stays stopped, as without a tracer
    return;
  }
  Resume(tracee);
}

// ESRCH is expected: the thread may be dying.
void AttemptRun::Resume(const Tracee& tracee, int signal_number) {
  const auto request = tracee.call ? PTRACE_SYSCALL : PTRACE_CONT;
  ptrace(request, tracee.tid, nullptr, static_cast<long>(signal_number));
}

}  // namespace reprise
