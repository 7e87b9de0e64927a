// All threads that we trace, by thread id, with what they are in the middle of.

#ifndef REPRISE_HARNESS_PROCESS_TRACEES_H_
#define REPRISE_HARNESS_PROCESS_TRACEES_H_

#include <sys/types.h>

#include <map>
#include <optional>
#include <set>

#include "harness/process/pending_call.h"
#include "injectors/injector.h"

namespace reprise {

constexpr int kServerRank = -1;  // a fork server: belongs to no attempt
constexpr int kStrayRank = -2;   // ended up here without its parent's word; only to be killed

struct Tracee {
  pid_t tid = 0;
  pid_t group = 0;  // its process
  int rank = kStrayRank;
  std::optional<PendingCall> call;  // between entry and exit stop, running
  Action after_call;                // decided at the entry
};

class Tracees {
 public:
  Tracee& Add(pid_t tid, pid_t group, int rank);
  // Null when it is not known.
  Tracee* Find(pid_t tid);
  void Remove(pid_t tid) { by_tid_.erase(tid); }

  // Processes of one rank, or, with `rank` nothing, of the whole attempt (all but servers).
  [[nodiscard]] std::set<pid_t> Groups(std::optional<int> rank) const;
  // True when a thread of these is between entry and exit of a watched call.
  [[nodiscard]] bool AnyInCall(std::optional<int> rank) const;
  // Forgets the other threads of a process that executes a new program.
  void KeepOnlyLeader(pid_t group);

 private:
  std::map<pid_t, Tracee> by_tid_;
};

// Does a tracee of `rank` belong to the selection `wanted` (as for Groups)?
inline bool Selects(std::optional<int> wanted, int rank) {
  return wanted ? rank == *wanted : rank != kServerRank;
}

}  // namespace reprise

#endif  // REPRISE_HARNESS_PROCESS_TRACEES_H_
