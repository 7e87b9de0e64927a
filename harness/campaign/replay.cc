// Runs one case of an earlier run again.

#include <algorithm>
#include <set>

#include "harness/base/files.h"
#include "harness/base/json_fields.h"
#include "harness/campaign/campaign.h"
#include "harness/campaign/case_runner.h"
#include "harness/record/run_directory.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

Result<const CaseReport*> FindCase(const RunRecord& record, const ReplayOptions& options) {
  std::vector<std::string> ids;
  for (const CaseReport& report : record.cases) {
    if (report.the_case.id == options.case_id) {
      return &report;
    }
    ids.push_back(report.the_case.id);
  }
  std::string message = "no case \"" + options.case_id + "\" in this run";
  if (const auto nearest = NearestWord(options.case_id, ids)) {
    message += "; did you mean \"" + *nearest + "\"?";
  } else {
    message += "; its ids stand in report.json";
  }
  return Fail(ErrorCode::kUsage, message, options.out.string());
}

// The references of the target that the run has stored.
Status LoadReferences(const RunRecord& record, const ReplayOptions& options, const Case& the_case,
                      CampaignContext* context) {
  std::set<int> worlds;
  for (const CaseReport& report : record.cases) {
    if (report.the_case.target == the_case.target) {
      worlds.insert(report.the_case.reference_world);
    }
  }
  for (const int world : worlds) {
    ReferenceJob job;
    job.target = &context->targets.at(the_case.target);
    job.world = world;
    job.folder = options.out / "reference" / (the_case.target + "-w" + std::to_string(world));
    auto reference = LoadReference(job);
    if (reference) {
      context->references.emplace(ReferenceKey{the_case.target, world}, std::move(*reference));
    } else if (world == the_case.reference_world) {
      return tl::make_unexpected(reference.error());
    }
  }
  return {};
}

}  // namespace

Result<Replay> ReplayCase(const ReplayOptions& options) {
  REPRISE_ASSIGN_OR_RETURN(const RunRecord record, RunDirectory::Read(options.out));
  REPRISE_ASSIGN_OR_RETURN(const CaseReport* recorded, FindCase(record, options));
  CampaignContext context;
  context.seed = record.header.seed;
  context.models_folder = options.models_folder;
  context.replay_prefix = options.program + " replay --out " + options.out.string();
  for (const TargetReport& target : record.targets) {
    context.targets.emplace(target.target.id, target.target);
    context.calibrations.emplace(target.target.id, target.calibration);
  }
  if (!context.targets.contains(recorded->the_case.target)) {
    return Fail(
        ErrorCode::kUsage,
        "this case was never run, because its uninterrupted run failed: " + recorded->outcome.why,
        options.case_id);
  }
  REPRISE_RETURN_IF_ERROR(LoadReferences(record, options, recorded->the_case, &context));
  REPRISE_ASSIGN_OR_RETURN(const std::unique_ptr<Supervisor> supervisor, Supervisor::Create());
  const CaseRunner runner(supervisor.get(), &context);
  Replay replay;
  replay.seed = context.seed;
  for (const TargetReport& target : record.targets) {
    if (target.target.id == recorded->the_case.target) {
      replay.target = target;
    }
  }
  replay.recorded = *recorded;
  const fs::path folder = fs::canonical(options.out) / "replay" / recorded->the_case.id;
  PlannedCase planned;
  planned.the_case = recorded->the_case;
  planned.expect = recorded->expect;
  replay.repeated = runner.Run(planned, folder, options.cold, true);
  replay.same = SayTheSame(replay.recorded.outcome, replay.repeated.outcome);
  return replay;
}

}  // namespace reprise
