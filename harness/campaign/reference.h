// The uninterrupted runs that everything is compared with.

#ifndef REPRISE_HARNESS_CAMPAIGN_REFERENCE_H_
#define REPRISE_HARNESS_CAMPAIGN_REFERENCE_H_

#include <filesystem>
#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/judge/judge.h"
#include "harness/plan/plan.h"
#include "harness/process/supervisor.h"

namespace reprise {

struct Reference {
  AttemptEvidence evidence;
  ReferenceSummary summary;
};

struct ReferenceJob {
  const Target* target = nullptr;
  int world = 1;
  std::filesystem::path folder;         // gets `attempt` and, while it runs, `ckpt`
  std::filesystem::path models_folder;  // what {models} stands for
  int attempt = 0;  // another number for a repetition, hence another hash seed (rank_environment.h)
};

// Runs it from a cold start and stores the evidence. An error says how the target ended, with the
// last lines that it printed; kNotFound when the command does not exist.
Status RunReference(Supervisor* supervisor, const ReferenceJob& job);

Result<Reference> LoadReference(const ReferenceJob& job);

// How `rank` of a finished attempt ended, in words, with the last lines of its standard error.
std::string DescribeEnd(const AttemptResult& result, int rank);

// Which components of the state changed in the run, and which were absent of change: nothing can be
// proved about the restoring of those.
struct Coverage {
  std::vector<std::string> exercised;
  std::vector<std::string> not_exercised;
};
Coverage ComputeCoverage(const AttemptEvidence& evidence);

}  // namespace reprise

#endif  // REPRISE_HARNESS_CAMPAIGN_REFERENCE_H_
