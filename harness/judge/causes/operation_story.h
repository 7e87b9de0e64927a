// What an attempt's operation log says about publishing and destroying checkpoints.

#ifndef REPRISE_HARNESS_JUDGE_CAUSES_OPERATION_STORY_H_
#define REPRISE_HARNESS_JUDGE_CAUSES_OPERATION_STORY_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/judge/judge.h"

namespace reprise {

// An event of the one sequence: an operation that succeeded, or the first acknowledgement of a
// save.
struct StoryEvent {
  const Operation* operation = nullptr;
  std::int64_t acknowledged_step = -1;
};

// The n-th record event of a rank is the n-th record of its logbook: lines are not parsed again.
std::vector<StoryEvent> StoryOf(const AttemptEvidence& attempt);

// The last acknowledged checkpoint of an attempt, one of whose files a later operation took away,
// and no later save was acknowledged.
struct DestroyedCheckpoint {
  std::int64_t step = -1;
  const Operation* operation = nullptr;  // in `attempt`
};
std::optional<DestroyedCheckpoint> FindDestroyed(const AttemptEvidence& attempt);

// `path` is `folder` or lies below it.
bool LiesBelow(const std::string& path, const std::string& folder);

// The operation, for people: "rename tmp-20 -> step-20 (rank 0, operation 0/1/7)".
std::string Show(const Operation& operation);

}  // namespace reprise

#endif  // REPRISE_HARNESS_JUDGE_CAUSES_OPERATION_STORY_H_
