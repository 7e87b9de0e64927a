#include "harness/campaign/reference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <variant>

#include "harness/base/files.h"
#include "harness/campaign/life.h"

namespace reprise {
namespace {

constexpr std::size_t kLastLines = 5;

// A run that is to be compared with must itself be sound.
Status RequireSuccess(const ReferenceJob& job, const AttemptResult& result) {
  if (result.end == AttemptEnd::kHung || result.end == AttemptEnd::kTimeout) {
    return Fail(ErrorCode::kUnsupported,
                fmt::format("the uninterrupted run at world size {} made no progress and was ended",
                            job.world),
                job.target->id);
  }
  for (std::size_t rank = 0; rank < result.ranks.size(); ++rank) {
    const RankResult& end = result.ranks[rank];
    if (end.end != RankEnd::kExited || end.status != 0) {
      return Fail(ErrorCode::kUnsupported,
                  fmt::format("the uninterrupted run at world size {} failed: {}", job.world,
                              DescribeEnd(result, static_cast<int>(rank))),
                  job.target->id);
    }
  }
  return {};
}

ReferenceSummary Summarise(const AttemptEvidence& evidence) {
  ReferenceSummary summary;
  summary.world = evidence.world;
  summary.record_count.assign(static_cast<std::size_t>(evidence.world), 0);
  std::set<std::int64_t> saved;
  for (const Logbook& logbook : evidence.logbooks) {
    if (logbook.rank < evidence.world) {
      summary.record_count[static_cast<std::size_t>(logbook.rank)] =
          static_cast<int>(logbook.records.size());
    }
    for (const LogRecord& record : logbook.records) {
      if (const auto* step = std::get_if<StepRecord>(&record)) {
        summary.steps = std::max(summary.steps, step->step);
      } else if (const auto* save = std::get_if<SaveAckRecord>(&record)) {
        saved.insert(save->step);
      }
    }
  }
  summary.saved_steps.assign(saved.begin(), saved.end());
  for (const AttemptEvent& event : evidence.result.events) {
    if (const auto* operation = std::get_if<OperationEvent>(&event)) {
      summary.operations.push_back(operation->operation);
      summary.operations.back().data.clear();
    }
  }
  return summary;
}

// The group of a scalar: "data.position" -> "data"; one without a dot is a counter.
std::string ComponentOfScalar(const std::string& name) {
  const auto dot = name.find('.');
  return dot == std::string::npos ? "counters" : name.substr(0, dot);
}

}  // namespace

std::string DescribeEnd(const AttemptResult& result, int rank) {
  const RankResult& end = result.ranks[static_cast<std::size_t>(rank)];
  std::string text;
  switch (end.end) {
    case RankEnd::kExited:
      text = fmt::format("rank {} exited with status {}", rank, end.status);
      break;
    case RankEnd::kSignalled:
      text = fmt::format("rank {} died of signal {}", rank, end.status);
      break;
    case RankEnd::kKilledByFault:
      text = fmt::format("rank {} was killed by the fault", rank);
      break;
    case RankEnd::kKilledAfter:
      text = fmt::format("rank {} was ended by reprise", rank);
      break;
  }
  std::deque<std::string> lines;
  for (const AttemptEvent& event : result.events) {
    const auto* output = std::get_if<OutputEvent>(&event);
    if (output != nullptr && output->rank == rank && output->stream == 2) {
      lines.push_back(output->line);
      if (lines.size() > kLastLines) {
        lines.pop_front();
      }
    }
  }
  if (!lines.empty()) {
    text += fmt::format("; it said: {}", fmt::join(lines, " | "));
  }
  if (!result.blind_spots.empty()) {  // a call that was denied may be the reason
    text += fmt::format("; not observed: {}", fmt::join(result.blind_spots, " | "));
  }
  return text;
}

Status RunReference(Supervisor* supervisor, const ReferenceJob& job) {
  const std::filesystem::path checkpoints = job.folder / "ckpt";
  REPRISE_RETURN_IF_ERROR(MakeFolders(checkpoints));
  Life life;
  life.target = job.target;
  life.world = job.world;
  life.attempt = job.attempt;
  life.checkpoint_folder = checkpoints;
  life.attempt_folder = job.folder / "attempt";
  life.models_folder = job.models_folder;
  life.cold = true;
  REPRISE_ASSIGN_OR_RETURN(const LifeResult result, RunLife(supervisor, life));
  return RequireSuccess(job, result.evidence.result);
}

Result<Reference> LoadReference(const ReferenceJob& job) {
  Reference reference;
  REPRISE_ASSIGN_OR_RETURN(reference.evidence, LoadLife(job.folder / "attempt", job.world));
  REPRISE_RETURN_IF_ERROR(RequireSuccess(job, reference.evidence.result));
  reference.summary = Summarise(reference.evidence);
  return reference;
}

Coverage ComputeCoverage(const AttemptEvidence& evidence) {
  // Component -> does any tensor or scalar of it have two values among the readings after steps?
  std::map<std::string, bool> changes;
  for (const Logbook& logbook : evidence.logbooks) {
    std::vector<TensorRecord> names;
    std::map<int, DigestSum> tensors;
    std::map<std::string, std::string> scalars;
    for (const LogRecord& record : logbook.records) {
      if (const auto* declared = std::get_if<NamesRecord>(&record)) {
        names.insert(names.end(), declared->tensors.begin(), declared->tensors.end());
      }
      const auto* state = std::get_if<StateRecord>(&record);
      if (state == nullptr) {
        continue;
      }
      for (const auto& [number, sum] : state->tensors) {
        const auto [first, inserted] = tensors.try_emplace(number, sum);
        if (number >= 0 && static_cast<std::size_t>(number) < names.size()) {
          changes[names[static_cast<std::size_t>(number)].component] |= first->second != sum;
        }
      }
      for (const auto& [name, value] : state->scalars) {
        const auto [first, inserted] = scalars.try_emplace(name, value);
        changes[ComponentOfScalar(name)] |= first->second != value;
      }
    }
  }
  Coverage coverage;
  for (const auto& [component, changed] : changes) {
    (changed ? coverage.exercised : coverage.not_exercised).push_back(component);
  }
  return coverage;
}

}  // namespace reprise
