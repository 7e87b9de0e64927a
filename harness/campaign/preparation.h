// What comes before the first case: the uninterrupted runs, and the measure of their determinism.

#ifndef REPRISE_HARNESS_CAMPAIGN_PREPARATION_H_
#define REPRISE_HARNESS_CAMPAIGN_PREPARATION_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/campaign/case_runner.h"
#include "harness/plan/plan.h"
#include "harness/record/run_directory.h"

namespace reprise {

// References that cannot be had because the target itself fails, with the reason.
using FailedReferences = std::map<ReferenceKey, std::string>;

using OnPieceDone = std::function<void(int done, int total)>;

// Runs what the directory does not hold yet: each needed reference, and one repetition per target,
// each life from a cold start. kUsage: a command does not exist.
Result<FailedReferences> RunReferences(const std::vector<ReferenceKey>& needed,
                                       const OnPieceDone& on_done, const RunDirectory& directory,
                                       int jobs, const CampaignContext& context);

// Loads the references into the context, compares each target's run with its repetition, and
// appends what is known of every target to the directory.
Status Calibrate(const std::vector<ReferenceKey>& needed, const FailedReferences& failed,
                 RunDirectory* directory, CampaignContext* context);

}  // namespace reprise

#endif  // REPRISE_HARNESS_CAMPAIGN_PREPARATION_H_
