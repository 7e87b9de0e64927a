#include "harness/campaign/preparation.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <set>
#include <utility>
#include <variant>

#include "harness/base/files.h"
#include "harness/base/json_fields.h"
#include "harness/process/worker_pool.h"

namespace reprise {
namespace {

ReferenceJob JobOf(const ReferenceKey& key, bool repetition, const RunDirectory& directory,
                   const CampaignContext& context) {
  const auto& [target, world] = key;
  return {.target = &context.targets.at(target),
          .world = world,
          .folder = directory.ReferencePath(target, world).string() + (repetition ? "-repeat" : ""),
          .models_folder = context.models_folder,
          .attempt = repetition ? 1 : 0};
}

// In a worker. The result is an error as JSON, or empty.
std::string RunJob(const Result<std::unique_ptr<Supervisor>>& supervisor, const ReferenceJob& job) {
  Status status;
  if (!supervisor) {
    status = tl::make_unexpected(supervisor.error());
  } else if (status = RemoveTree(job.folder); status) {
    status = RunReference(supervisor->get(), job);
    if (Status removed = RemoveTree(job.folder / "ckpt"); status) {
      status = std::move(removed);
    }
  }
  if (status) {
    return {};
  }
  return DumpJson(Json{{"code", static_cast<int>(status.error().code)},
                       {"message", status.error().message},
                       {"where", status.error().where}});
}

// A target that cannot run uninterrupted cannot be judged (kUnsupported); a command that does not
// exist is the user's mistake; anything else is our trouble.
Status NoteResult(const ReferenceJob& job, const std::string& text, FailedReferences* failed) {
  if (text.empty()) {
    return {};
  }
  REPRISE_ASSIGN_OR_RETURN(const Json json, ParseJson(text, "worker"));
  Error error{static_cast<ErrorCode>(json["code"].get<int>()), json["message"].get<std::string>(),
              json["where"].get<std::string>()};
  if (error.code != ErrorCode::kUnsupported) {
    return tl::make_unexpected(std::move(error));
  }
  failed->try_emplace({job.target->id, job.world}, error.message);
  return {};
}

std::string DescribeDifference(const Outcome& outcome) {
  if (!outcome.divergence) {
    return fmt::format("{} {}", ToText(outcome.verdict), outcome.why);
  }
  return fmt::format("first difference at step {} in {} ({})", outcome.divergence->step,
                     outcome.divergence->name, ToText(outcome.divergence->layer));
}

Calibration Compare(const Target& target, const AttemptEvidence& reference,
                    AttemptEvidence repetition) {
  Case repeated;
  repeated.id = target.id + "-repeat";
  repeated.target = target.id;
  repeated.world = {reference.world};
  repeated.reference_world = reference.world;
  JudgeInput input;
  input.the_case = &repeated;
  input.target = &target;
  input.reference = &reference;
  input.attempts.push_back(std::move(repetition));
  const Outcome outcome = Judge(input);
  Calibration calibration;
  calibration.observed = outcome.verdict != Verdict::kCannotJudge;
  calibration.deterministic = !calibration.observed || outcome.verdict == Verdict::kExact;
  if (!calibration.deterministic) {
    calibration.first_difference = outcome.divergence;
    calibration.noise = DescribeDifference(outcome);
  }
  return calibration;
}

void DescribeObservation(const AttemptEvidence& evidence, TargetReport* report) {
  if (evidence.logbooks.empty()) {
    report->depth = report->target.format.empty() ? "command" : "files";
    report->blind_spots.emplace_back(
        "no logbook: steps, samples, random numbers and live state were not seen");
  } else {
    report->depth = "calls";
    for (const LogRecord& record : evidence.logbooks.front().records) {
      if (const auto* start = std::get_if<StartRecord>(&record)) {
        report->versions = start->environment;
      }
    }
  }
  report->blind_spots.insert(report->blind_spots.end(), evidence.result.blind_spots.begin(),
                             evidence.result.blind_spots.end());
  Coverage coverage = ComputeCoverage(evidence);
  report->exercised = std::move(coverage.exercised);
  report->not_exercised = std::move(coverage.not_exercised);
}

}  // namespace

Result<FailedReferences> RunReferences(const std::vector<ReferenceKey>& needed,
                                       const OnPieceDone& on_done, const RunDirectory& directory,
                                       int jobs, const CampaignContext& context) {
  std::vector<ReferenceJob> open;
  const auto add = [&](const ReferenceKey& key, bool repetition) {
    ReferenceJob job = JobOf(key, repetition, directory, context);
    if (!LoadReference(job)) {  // else an earlier run, which is continued, has it
      open.push_back(std::move(job));
    }
  };
  std::set<std::string> repeated;
  for (const ReferenceKey& key : needed) {
    add(key, false);
    if (repeated.insert(key.first).second) {
      add(key, true);
    }
  }
  const auto make_work = [&open] {
    // Made in the worker that uses it: a tracer is one thread of one process.
    auto supervisor = std::make_shared<Result<std::unique_ptr<Supervisor>>>(Supervisor::Create());
    return [supervisor, &open](std::size_t i) { return RunJob(*supervisor, open[i]); };
  };
  FailedReferences failed;
  Status trouble;
  int done = 0;
  REPRISE_RETURN_IF_ERROR(RunInWorkers(
      open.size(), jobs, make_work, [&](std::size_t i, const Result<std::string>& text) {
        trouble = text ? NoteResult(open[i], *text, &failed) : tl::make_unexpected(text.error());
        on_done(++done, static_cast<int>(open.size()));
        return trouble.has_value();
      }));
  REPRISE_RETURN_IF_ERROR(trouble);
  return failed;
}

Status Calibrate(const std::vector<ReferenceKey>& needed, const FailedReferences& failed,
                 RunDirectory* directory, CampaignContext* context) {
  std::map<std::string, int> repeated_world;  // the first that the target needs: see RunReferences
  for (const auto& [target, world] : needed) {
    repeated_world.try_emplace(target, world);
  }
  std::set<std::string> done;
  for (const ReferenceKey& key : needed) {
    if (failed.contains(key)) {
      continue;
    }
    REPRISE_ASSIGN_OR_RETURN(Reference reference,
                             LoadReference(JobOf(key, false, *directory, *context)));
    const AttemptEvidence& evidence =
        context->references.emplace(key, std::move(reference)).first->second.evidence;
    if (!done.insert(key.first).second) {
      continue;
    }
    TargetReport report;
    report.target = context->targets.at(key.first);
    if (repeated_world.at(key.first) == key.second) {  // else that world size failed: not observed
      REPRISE_ASSIGN_OR_RETURN(Reference repetition,
                               LoadReference(JobOf(key, true, *directory, *context)));
      report.calibration = Compare(report.target, evidence, std::move(repetition.evidence));
    }
    DescribeObservation(evidence, &report);
    context->calibrations[key.first] = report.calibration;
    REPRISE_RETURN_IF_ERROR(directory->AppendTarget(report));
  }
  return {};
}

}  // namespace reprise
