#include "harness/process/attempt_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "harness/process/stop.h"

namespace reprise {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLongestWait{100};  // a stop request is noticed within it
constexpr milliseconds kServerStartLimit{120'000};
constexpr milliseconds kServerAnswerLimit{20'000};
// After this long an exclusive call (a write to a pipe, a slow disk) no longer keeps others
// waiting.
constexpr milliseconds kOwnerLimit{1'000};
// Threads that only poll use less of a CPU than this, also in four ranks at once.
constexpr int kHangCpuPermille = 5;

Status Interrupted() { return Fail(ErrorCode::kDeadline, "interrupted"); }

}  // namespace

AttemptRun::AttemptRun(const AttemptSpec& spec, WatchedPlaces places, Tracees& tracees,
                       const Filters& filters)
    : spec_(spec),
      tracees_(tracees),
      filters_(filters),
      log_(static_cast<int>(spec.commands.size())),
      decoder_(std::move(places)),
      ranks_(),
      start_(Clock::now()),
      hang_watch_(spec.hang_after, kHangCpuPermille, start_),
      owner_since_(start_) {
  ranks_.reserve(spec.commands.size());
  for (const pid_t child : OwnChildren()) {
    foreign_children_.insert(child);
  }
}

void AttemptRun::AddRank(Child child) {
  tracees_.Add(child.pid, child.pid, static_cast<int>(ranks_.size()));
  Rank rank;
  rank.first = child.pid;
  rank.exec_error = std::move(child.exec_error);
  ranks_.push_back(std::move(rank));
}

Status AttemptRun::CheckServerAlive(ForkServer& server) {
  if (!server_misuse_.empty()) {
    return Fail(ErrorCode::kUnsupported, server_misuse_);
  }
  if (tracees_.Find(server.Pid()) != nullptr) {
    return {};
  }
  if (const int error = server.ExecError(); error != 0) {
    return FailErrno(error, "starting the fork server");
  }
  return Fail(ErrorCode::kUnsupported,
              "the target ended instead of serving as fork server; it must call reprise_run_main "
              "(probes/c/fork_server.h). Its last output: " +
                  server.OutputTail());
}

Status AttemptRun::AwaitServer(ForkServer& server) {
  const Clock::time_point deadline = Clock::now() + kServerStartLimit;
  foreign_children_.insert(server.Pid());
  while (Clock::now() < deadline) {
    if (const auto answer = server.Receive()) {
      if (*answer == "ready") {
        return {};
      }
      return Fail(ErrorCode::kUnsupported,
                  "the fork server's first answer was \"" + *answer + "\" instead of \"ready\"");
    }
    if (StopRequested()) {
      return Interrupted();
    }
    if (const auto report = NextReport(kLongestWait, server.Socket())) {
      Dispatch(*report);
    }
    REPRISE_RETURN_IF_ERROR(CheckServerAlive(server));
  }
  return Fail(ErrorCode::kUnsupported,
              fmt::format("the fork server was not ready after {} s. Its last output: {}",
                          kServerStartLimit.count() / 1000, server.OutputTail()));
}

Status AttemptRun::ForkRank(ForkServer& server, const ForkRequest& request) {
  foreign_children_.insert(server.Pid());
  while (server.Receive()) {  // answers to earlier requests
  }
  REPRISE_RETURN_IF_ERROR(server.Send(request));
  forking_rank_ = static_cast<int>(ranks_.size());
  const Clock::time_point deadline = Clock::now() + kServerAnswerLimit;
  while (forking_rank_ != kServerRank && Clock::now() < deadline) {
    if (const auto report = NextReport(kLongestWait, server.Socket())) {
      Dispatch(*report);
      continue;
    }
    REPRISE_RETURN_IF_ERROR(CheckServerAlive(server));
    const auto answer = server.Receive();
    if (answer && answer->starts_with("error")) {
      return Fail(ErrorCode::kSystem, "the fork server answered: " + *answer);
    }
    if (StopRequested()) {
      return Interrupted();
    }
  }
  if (forking_rank_ != kServerRank) {
    return Fail(ErrorCode::kDeadline, fmt::format("the fork server did not fork within {} s",
                                                  kServerAnswerLimit.count() / 1000));
  }
  return {};
}

Result<AttemptResult> AttemptRun::Finish() {
  const Status status = Loop();
  Abandon();
  if (!status) {
    return tl::make_unexpected(status.error());
  }
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    int error = 0;
    const UniqueFd& pipe = ranks_[rank].exec_error;
    if (pipe.IsValid() && read(pipe.Get(), &error, sizeof(error)) == sizeof(error)) {
      return FailErrno(error, fmt::format("starting rank {}", rank), spec_.commands[rank][0]);
    }
  }
  return TakeResult();
}

void AttemptRun::Abandon() {
  KillAll(RankEnd::kKilledAfter);
  SweepStrays();
}

Status AttemptRun::Loop() {
  while (!AllEnded()) {
    if (StopRequested()) {
      return Interrupted();
    }
    const Clock::time_point now = Clock::now();
    REPRISE_RETURN_IF_ERROR(CheckDeadlines(now));
    if (const auto report = NextReport(TimeToWait(now))) {
      Dispatch(*report);
    }
  }
  return {};
}

Status AttemptRun::CheckDeadlines(Clock::time_point now) {
  if (peers_deadline_ && now >= *peers_deadline_) {
    peers_deadline_.reset();
    KillAll(RankEnd::kKilledAfter);
    return {};
  }
  if (now - start_ >= spec_.timeout) {
    result_.end = AttemptEnd::kTimeout;
    result_.stacks = DescribeProcesses(tracees_.Groups(std::nullopt));
    KillAll(RankEnd::kKilledAfter);
    return {};
  }
  CheckHold(now);
  if (hang_watch_.IsDue(now) && hang_watch_.Sample(now, ActivityNow())) {
    // Peers of a killed or held rank wait in vain; that is no hang.
    if (!peers_deadline_ && !IsHolding()) {
      result_.end = AttemptEnd::kHung;
      result_.stacks = DescribeProcesses(tracees_.Groups(std::nullopt));
      KillAll(RankEnd::kKilledAfter);
    }
    return {};
  }
  if (owner_ != 0 && now - owner_since_ >= kOwnerLimit && !waiting_.empty()) {
    owner_ = 0;
    log_.AddBlindSpot(
        "an operation took longer than a second, and others were let through meanwhile; the order "
        "of these in the log is that of their ends");
  }
  StartNextWaiting();  // also after the owner's rank was killed
  return {};
}

// A thread whose stop we have not looked at yet waits for nobody but us: when we are late, that is
// no rest. What is pending is asked for after the look at the threads, so that none slips between.
Activity AttemptRun::ActivityNow() {
  Activity activity = ActivityOf(tracees_.Groups(std::nullopt), result_.tracer_stop_count);
  if (deferred_.empty()) {
    if (const auto report = ChildWait::TryNext()) {
      deferred_.push_back(*report);
    }
  }
  activity.is_busy |= !deferred_.empty();
  return activity;
}

milliseconds AttemptRun::TimeToWait(Clock::time_point now) const {
  Clock::time_point until =
      std::min({now + kLongestWait, hang_watch_.NextSample(), start_ + spec_.timeout});
  if (peers_deadline_) {
    until = std::min(until, *peers_deadline_);
  }
  if (IsHolding()) {
    until = std::min(until, hold_->others.NextSample());
  }
  return std::chrono::ceil<milliseconds>(std::max(until - now, Clock::duration::zero()));
}

bool AttemptRun::AllEnded() const {
  return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.has_ended; });
}

std::optional<WaitReport> AttemptRun::NextReport(milliseconds timeout, int readable) {
  if (!deferred_.empty()) {
    const WaitReport report = deferred_.front();
    deferred_.pop_front();
    return report;
  }
  return wait_.Next(timeout, readable);
}

AttemptResult AttemptRun::TakeResult() {
  CompareOutputSizes();
  for (Rank& rank : ranks_) {
    result_.ranks.push_back(rank.result);
  }
  log_.Finish(result_);
  result_.wall_time = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start_);
  return std::move(result_);
}

// Output that went through a descriptor other than 1 and 2 is in the file and not in the sequence.
void AttemptRun::CompareOutputSizes() {
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    for (const int stream : {1, 2}) {
      const auto file =
          spec_.output_folder / fmt::format("rank-{}.{}", rank, stream == 1 ? "out" : "err");
      const auto facts = FactsOfPath(file.string());
      const std::int64_t unseen = facts ? facts->size_bytes - log_.OutputSeen(rank, stream) : 0;
      if (unseen > 0) {
        log_.AddBlindSpot(
            fmt::format("rank {}: {} bytes of {} were written through another descriptor; they are "
                        "in the file, "
                        "not in the sequence",
                        rank, unseen, stream == 1 ? "standard output" : "standard error"));
      }
    }
  }
}

}  // namespace reprise
