// Keeps the evidence of one attempt in a folder, for judging, replaying and reading it again.
//
//   FOLDER/logbook/rank-R.jsonl   written by the target
//   FOLDER/output/rank-R.{out,err}
//   FOLDER/attempt.jsonl          results of the ranks, then the one sequence of events

#ifndef REPRISE_HARNESS_RECORD_ATTEMPT_STORE_H_
#define REPRISE_HARNESS_RECORD_ATTEMPT_STORE_H_

#include <filesystem>

#include "harness/base/result.h"
#include "harness/model/attempt.h"

namespace reprise {

// Creates FOLDER/logbook and FOLDER/output for an attempt that is to be run.
Status PrepareAttemptFolder(const std::filesystem::path& folder);

// The data of writes is not kept.
Status StoreAttempt(const std::filesystem::path& folder, const AttemptResult& result);

// kCorrupt when the file is torn: the attempt must be run again.
Result<AttemptResult> LoadAttempt(const std::filesystem::path& folder);

}  // namespace reprise

#endif  // REPRISE_HARNESS_RECORD_ATTEMPT_STORE_H_
