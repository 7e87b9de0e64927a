// What a restart owed: which checkpoint had to be recoverable, which outcomes were allowed.

#ifndef REPRISE_HARNESS_JUDGE_CONTRACT_H_
#define REPRISE_HARNESS_JUDGE_CONTRACT_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/judge/run_view.h"

namespace reprise {

struct Contract {
  std::int64_t acknowledged = -1;          // newest step that any rank acknowledged; -1: none
  std::set<std::int64_t> unacknowledged;   // newer saves that had begun: old and new are both right
  bool stored_known = false;               // the lists below can be trusted
  std::set<std::int64_t> sound;            // steps of the stored checkpoints that can be read
  bool damaged = false;                    // by a fault, and no life has coped with it yet
  std::vector<std::string> damaged_files;  // then: relative to the checkpoint folder

  // The acknowledged checkpoint is there and can be read, as far as is known.
  [[nodiscard]] bool AcknowledgedIsSound() const {
    return !stored_known || sound.contains(acknowledged);
  }
};

// `before`: the attempts before the restart. `stored_known` and `sound` hold only for the last
// restart, whose folder was read. Damage excuses the first life after it that restores anything, no
// later one.
Contract MakeContract(const JudgeInput& input, const std::vector<const RunView*>& before,
                      bool is_last_restart);

// How an attempt came to its end.
struct Ending {
  bool hung = false;
  bool by_fault = false;
  std::optional<int> signal_rank;  // ended by a signal that nobody sent
  std::optional<int> error_rank;   // ended itself with an error
  int status = 0;                  // of that rank: exit status or signal number
  [[nodiscard]] bool IsClean() const {
    return !hung && !by_fault && !signal_rank.has_value() && !error_rank.has_value();
  }
};
Ending EndingOf(const AttemptResult& result);

// The first `refused` record or output line of the attempt that names one of `files` (by the last
// component of its path at least), or nothing.
std::optional<std::string> FindNaming(const AttemptEvidence& attempt, const RunView& view,
                                      const std::vector<std::string>& files);

// The last line that a rank wrote to standard error, or nothing.
std::optional<std::string> LastErrorLine(const AttemptResult& result);

// What is known before any state is compared. `verdict` is empty when the restart began where it
// may: then its state decides. `final` is false for kExactFallback, which still has to be compared.
struct ContractFinding {
  std::optional<Verdict> verdict;
  bool announced = false;
  std::int64_t restored_step = -1;
  std::int64_t expected_step = -1;
  std::string why;
};
ContractFinding CheckContract(const Contract& contract, const AttemptEvidence& attempt,
                              const RunView& view);

// Of a finding, in layer D0.
Divergence DivergenceOf(const ContractFinding& found);

}  // namespace reprise

#endif  // REPRISE_HARNESS_JUDGE_CONTRACT_H_
