// Synthetic runs for tests: a small training whose state is a pure function of the step, and a
// scene of reference, killed attempt and restart in which single values can be replaced.

#ifndef REPRISE_HARNESS_JUDGE_TESTING_H_
#define REPRISE_HARNESS_JUDGE_TESTING_H_

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "harness/judge/judge.h"

namespace reprise::testing {

inline constexpr std::int64_t kSteps = 12;
inline constexpr std::int64_t kStepsPerEpoch = 5;
inline constexpr std::int64_t kWorkers = 2;
inline constexpr std::int64_t kRows = 6;  // of every tensor but the generators'

// What a reading of the state is about.
struct Place {
  std::string reading;
  std::int64_t step = 0;
  int rank = 0;
};

// Each hook replaces what a right training would record. An unset optional means "absent".
struct RunSpec {
  int world = 1;
  std::int64_t from = 0;  // restored step
  std::int64_t to = kSteps;
  std::string checkpoint;  // name that the `restored` record gives
  std::vector<std::string> refused;
  bool restores = true;  // writes a `restored` record
  bool ends = true;      // writes an `end` record; false: was killed
  std::set<std::int64_t> begun = {4, 8};
  std::set<std::int64_t> acknowledged = {4, 8};
  // Step whose bits a row of a tensor has; -1: zero; nothing: the tensor is absent.
  std::function<std::optional<std::int64_t>(const std::string& key, std::int64_t row,
                                            const Place& place)>
      bits_of = [](const std::string&, std::int64_t, const Place& place) {
        return std::optional(place.step);
      };
  // Tensor whose bits `key` has.
  std::function<std::string(const std::string& key, const Place& place)> source =
      [](const std::string& key, const Place&) { return key; };
  std::function<std::string(const std::string& name, const Place& place)> scalar =
      [](const std::string&, const Place& place) { return std::to_string(place.step); };
  // Step whose samples are seen.
  std::function<std::int64_t(std::int64_t step)> batch_of = [](std::int64_t step) { return step; };
  std::function<std::vector<std::int64_t>(std::int64_t step, std::int64_t worker)> ids;
  std::function<double(std::int64_t step)> rate = [](std::int64_t step) {
    return 0.001 * static_cast<double>(step);
  };
  std::function<float(std::int64_t step)> loss = [](std::int64_t step) {
    return 4.0F / static_cast<float>(step + 1);
  };
  bool tied = true;  // weight/head shares the storage of weight/embed
};

AttemptEvidence MakeRun(const RunSpec& spec);

// The samples that a right training sees: a permutation per epoch.
std::vector<std::int64_t> RightIds(std::int64_t step, std::int64_t worker);

// A checkpoint as a right training stores it.
StoredCheckpoint MakeStored(std::int64_t step);

// Reference of 12 steps at one rank, a killed attempt of 9 steps, a restart from step 8.
struct Scene {
  Scene();
  [[nodiscard]] Outcome Judge() const;

  Case the_case;
  Target target;
  RunSpec reference;
  RunSpec killed;
  RunSpec restart;
  std::vector<StoredCheckpoint> stored;
  bool format_known = true;
  std::vector<StoredCheckpoint> stored_at_end;
  bool stored_at_end_known = false;
  std::vector<std::string> damaged_files;  // not empty: the folder was damaged
  // Changes the evidence after it was made.
  std::function<void(AttemptEvidence& killed, AttemptEvidence& restart)> edit;
};

// A scene in which nothing is done to either life: the first ends, the second begins at the newest
// checkpoint and leaves it as it was.
Scene FinishedScene();

// The attempt ended with this status (or signal) of rank 0 and this line on standard error.
void EndWith(AttemptEvidence& attempt, RankEnd end, int status, const std::string& line);

// Puts an operation before rank 0's acknowledgement of `step`, or at the end for a step that was
// not acknowledged.
void AddOperation(AttemptEvidence& attempt, std::int64_t step, Operation operation);

}  // namespace reprise::testing

#endif  // REPRISE_HARNESS_JUDGE_TESTING_H_
