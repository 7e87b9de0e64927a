// One attempt: the state of its ranks, and what happens at each stop of a tracee.
//
// attempt_run.cc holds its course from start to end, attempt_stops.cc the stops, attempt_calls.cc
// the watched calls and the injectors, attempt_descriptors.cc the numbers of open files,
// attempt_kill.cc the kills, attempt_hold.cc the holds.
//
// Exactness. At most one call that changes names or content below the checkpoint folder is under
// way at a time (`owner_`), so that the order of the log is the order of the kernel. Before a kill,
// every call that is under way is brought to its end and logged, and its thread is not resumed;
// SIGKILL to a thread that is stopped at the entry of a call prevents the call (kernel/seccomp.c: a
// fatal signal pending after the tracer's stop skips it). So the folder is what the completed
// operations of the log say, and nothing more.

#ifndef REPRISE_HARNESS_PROCESS_ATTEMPT_RUN_H_
#define REPRISE_HARNESS_PROCESS_ATTEMPT_RUN_H_

#include <sys/user.h>

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/process/attempt_log.h"
#include "harness/process/call_decoder.h"
#include "harness/process/child_wait.h"
#include "harness/process/fork_server.h"
#include "harness/process/hang_watch.h"
#include "harness/process/launch_child.h"
#include "harness/process/supervisor.h"
#include "harness/process/tracees.h"

namespace reprise {

struct Filters {
  std::vector<sock_filter> main;
  std::vector<sock_filter> low_descriptors;
  std::vector<sock_filter> standard_descriptors;
};

// "SIGKILL to rank 1", "SIGKILL to all ranks".
std::string DescribeKill(const Action& action);

// "rank 1, save 0, operation 3 (pwrite64 step-2/shard)".
std::string DescribeOperation(const Operation& operation);

class AttemptRun {
 public:
  // `spec`, `tracees` and `filters` must outlive it; `places` are of this attempt.
  AttemptRun(const AttemptSpec& spec, WatchedPlaces places, Tracees& tracees,
             const Filters& filters);

  // Each of the three is called for every rank in order, before Finish().
  void AddRank(Child child);
  // Waits for the server's "ready". kUnsupported when it does not take part.
  Status AwaitServer(ForkServer& server);
  Status ForkRank(ForkServer& server, const ForkRequest& request);

  // Runs to the end of the attempt. Also after a failed start, to remove what was started.
  Result<AttemptResult> Finish();
  void Abandon();

 private:
  struct Rank {
    pid_t first = 0;  // its first process
    UniqueFd exec_error;
    bool has_ended = false;
    std::optional<RankEnd> killed;  // by us, and why
    RankResult result;
  };

  // A rank that stays before an operation while the others run on.
  struct Hold {
    pid_t tid = 0;  // stopped at the entry of the operation
    pid_t group = 0;
    int rank = 0;
    OperationAddress address;
    std::size_t injector = 0;
    Clock::time_point since;
    std::int64_t others_before = 0;  // operations of the other ranks
    RestWatch others;
    std::vector<pid_t> behind;  // the rank's other threads, at the entry of theirs
    bool is_released = false;
  };

  // attempt_run.cc
  Status Loop();
  Status CheckDeadlines(Clock::time_point now);
  Activity ActivityNow();
  [[nodiscard]] std::chrono::milliseconds TimeToWait(Clock::time_point now) const;
  [[nodiscard]] bool AllEnded() const;
  std::optional<WaitReport> NextReport(std::chrono::milliseconds timeout, int readable = -1);
  Status CheckServerAlive(ForkServer& server);
  AttemptResult TakeResult();
  void CompareOutputSizes();

  // attempt_stops.cc
  void Dispatch(const WaitReport& report);
  void OnEnd(const WaitReport& report);
  void OnRankEnd(Rank& rank, int number, const WaitReport& report);
  void OnStop(Tracee& tracee, int status);
  void OnNewTracee(const Tracee& parent);
  void OnExec(Tracee& tracee);
  void OnEventStop(const Tracee& tracee, int signal_number);
  void Resume(const Tracee& tracee, int signal_number = 0);

  // attempt_calls.cc
  void OnEntry(Tracee& tracee);
  void BeginCall(Tracee& tracee, PendingCall call, const user_regs_struct& registers);
  bool BeginOperation(Tracee& tracee, PendingCall& call, const user_regs_struct& registers);
  bool SwallowOutput(const Tracee& tracee, const PendingCall& call, user_regs_struct registers);
  void Deny(const Tracee& tracee, std::string_view what, user_regs_struct registers);
  void OnExit(Tracee& tracee);
  Action CompleteCall(Tracee& tracee, const user_regs_struct& registers, bool ask_injectors);
  void AddOperations(const Tracee& tracee, PendingCall call, std::int64_t result);
  void AddOperation(Operation operation);
  Action AddRecords(const Tracee& tracee, const PendingCall& call, std::int64_t result,
                    bool ask_injectors);
  void AddOutput(const Tracee& tracee, const PendingCall& call, std::int64_t result);
  Action AskOnOperation(const Operation& operation);
  Action AskOnRecord(int rank, const std::string& line);
  [[nodiscard]] std::string InjectorName(std::size_t index) const;
  void GiveUpOwnership(pid_t tid);
  void StartNextWaiting();

  // attempt_descriptors.cc
  void MoveWatchedDescriptor(const Tracee& tracee, const PendingCall& call,
                             user_regs_struct registers);
  void WatchLowDescriptor(const Tracee& tracee, const user_regs_struct& registers, int fd);
  void WatchArrived(const Tracee& tracee, const user_regs_struct& registers);
  [[nodiscard]] std::set<FileKey> MappedFiles() const;

  // attempt_kill.cc
  enum class CutOutcome { kKillNow, kKillAfterwards };
  CutOutcome PrepareCut(const Tracee& tracee, const PendingCall& call,
                        const user_regs_struct& registers, Action& action);
  bool Execute(const Action& action, int own_rank);
  void KillAll(RankEnd why);
  void KillRank(int rank, RankEnd why);
  void Drain(std::optional<int> rank);
  void DrainOne(const WaitReport& report, std::optional<int> rank);
  void SignalGroups(std::optional<int> rank);
  void ReapAll();
  void SweepStrays();

  // attempt_hold.cc
  void BeginHold(const Tracee& tracee, const Operation& operation);
  [[nodiscard]] bool IsHolding() const { return hold_ && !hold_->is_released; }
  [[nodiscard]] bool WaitsBehindHold(const Tracee& tracee, const PendingCall& call);
  [[nodiscard]] bool IsReleased(const Tracee& tracee) const;
  void CheckHold(Clock::time_point now);
  [[nodiscard]] std::optional<Standstill::Reason> HoldIsOver(Clock::time_point now);
  void FinishHold(Standstill::Reason reason);
  void LetWaitingGoOn();
  void ForgetHeldThread(pid_t tid);

  const AttemptSpec& spec_;
  Tracees& tracees_;
  const Filters& filters_;
  AttemptLog log_;
  CallDecoder decoder_;
  ChildWait wait_;
  AttemptResult result_;
  std::vector<Rank> ranks_;
  std::set<pid_t> foreign_children_;  // that existed before, and are not ours to touch
  Clock::time_point start_;
  RestWatch hang_watch_;
  std::optional<Clock::time_point> peers_deadline_;

  std::map<pid_t, int> unannounced_;  // stopped threads whose parent's report has not come yet
  std::deque<WaitReport> deferred_;   // reports put off while a kill was prepared
  pid_t owner_ = 0;                   // thread in an exclusive call
  Clock::time_point owner_since_;
  std::optional<Hold> hold_;
  std::deque<pid_t> waiting_;         // stopped at the entry of an exclusive call
  std::set<pid_t> low_watched_;       // processes with the filter for low descriptors
  std::set<pid_t> standard_watched_;  // and with that for standard descriptors
  std::set<FileKey> arrived_;         // files that the call has brought in that ends now
  int forking_rank_ = kServerRank;    // the rank that the server's next child is
  std::size_t asking_ = 0;            // the injector that decided last
  std::string server_misuse_;         // a server that trains instead of serving
};

}  // namespace reprise

#endif  // REPRISE_HARNESS_PROCESS_ATTEMPT_RUN_H_
