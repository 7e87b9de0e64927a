// The judge: compares what came back with the uninterrupted run and says what it is. Pure.

#ifndef REPRISE_HARNESS_JUDGE_JUDGE_H_
#define REPRISE_HARNESS_JUDGE_JUDGE_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/model/attempt.h"
#include "harness/model/case.h"
#include "harness/model/log_record.h"
#include "harness/model/outcome.h"

namespace reprise {

// All that one attempt left behind. `logbooks` has one entry per rank that wrote one.
struct AttemptEvidence {
  int world = 1;
  std::vector<Logbook> logbooks;
  AttemptResult result;
};

// A tensor as the checkpoint's files hold it: the digests of its stored slices, added up.
struct StoredTensor {
  TensorRecord record;  // slice is the whole tensor; component is empty
  DigestSum sum;
  bool covered = true;  // the stored slices cover it exactly once
};

// One checkpoint in the folder at the moment of the restart (after damage), as the format reads it.
struct StoredCheckpoint {
  std::string name;
  std::int64_t step = 0;
  std::map<std::string, StoredTensor> tensors;  // by key
  std::map<std::string, std::string> scalars;
  std::string error;                       // why it cannot be read or verified; empty: it is sound
  std::vector<std::string> missing_files;  // that its index or layout demands

  [[nodiscard]] bool IsSound() const { return error.empty() && missing_files.empty(); }
};

struct JudgeInput {
  const Case* the_case = nullptr;
  const Target* target = nullptr;
  const AttemptEvidence* reference = nullptr;  // uninterrupted, at the_case->reference_world
  std::vector<AttemptEvidence> attempts;       // the killed one, then the restarts
  std::vector<StoredCheckpoint> stored;        // before the last restart, in the loader's order
  bool format_known = false;                   // `stored` can be trusted to list all checkpoints
  // By attempt: the files that faults changed in the folder after it, relative to the checkpoint
  // folder. Empty, or shorter than `attempts`: none.
  std::vector<std::vector<std::string>> damaged_files_after;
  std::vector<StoredCheckpoint> stored_at_end;  // after the last restart
  bool stored_at_end_known = false;             // it can be trusted to list all checkpoints
};

// REQUIRES: all pointers set; one or more attempts. With one attempt and no fault, the attempt
// itself is compared with the reference from its first step (calibration, another world size).
Outcome Judge(const JudgeInput& input);

}  // namespace reprise

#endif  // REPRISE_HARNESS_JUDGE_JUDGE_H_
