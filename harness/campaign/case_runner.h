// Runs one case: a life with its faults, the damage, the restarts; then asks the judge.

#ifndef REPRISE_HARNESS_CAMPAIGN_CASE_RUNNER_H_
#define REPRISE_HARNESS_CAMPAIGN_CASE_RUNNER_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/campaign/reference.h"
#include "harness/model/report.h"
#include "harness/plan/plan.h"
#include "harness/process/supervisor.h"

namespace reprise {

// What all cases share; outlives every CaseRunner.
struct CampaignContext {
  std::uint64_t seed = 1;
  std::map<std::string, Target> targets;            // by id
  std::map<ReferenceKey, Reference> references;     // sound ones
  std::map<std::string, Calibration> calibrations;  // by target id
  std::filesystem::path models_folder;
  std::string replay_prefix;  // "reprise replay --out DIR", to which the id is added
};

class CaseRunner {
 public:
  // Both outlive this object.
  CaseRunner(Supervisor* supervisor, const CampaignContext* context)
      : supervisor_(supervisor), context_(context) {}

  // Works in `folder`, which is emptied first and, after a case that is no finding, removed again
  // unless `keep`. `cold`: every life is a cold start. Our own trouble is the verdict
  // harness-error. REQUIRES: the context knows the case's target and its reference.
  [[nodiscard]] CaseReport Run(const PlannedCase& planned, const std::filesystem::path& folder,
                               bool cold, bool keep) const;

 private:
  Supervisor* supervisor_;
  const CampaignContext* context_;
};

}  // namespace reprise

#endif  // REPRISE_HARNESS_CAMPAIGN_CASE_RUNNER_H_
