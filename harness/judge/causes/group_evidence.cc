// What rules about groups of tensors share; see cause_rule.h.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "harness/judge/causes/cause_rule.h"

namespace reprise {
namespace {

void CountOrigin(const Origin& origin, std::int64_t initial_step,
                 std::map<std::int64_t, int>& other_steps, GroupEvidence& group) {
  switch (origin.kind) {
    case OriginKind::kUnknown:
      return;
    case OriginKind::kZero:
      ++group.zero;
      return;
    case OriginKind::kSameTensor:
      if (origin.step == initial_step) {
        ++group.at_initial_step;
      } else {
        ++other_steps[origin.step];
      }
      return;
    case OriginKind::kOtherTensor:
      ++group.as_other_tensor;
      return;
    case OriginKind::kMixed:
      ++group.mixed;
      return;
  }
}

void CountReadings(const TensorReadings& readings, GroupEvidence& group) {
  group.file_known |= readings.file != ReadingState::kUnknown;
  group.file_absent += readings.file == ReadingState::kAbsent ? 1 : 0;
  group.file_equal += readings.file == ReadingState::kEqual ? 1 : 0;
  group.restored_equal += readings.restored == ReadingState::kEqual ? 1 : 0;
}

bool IsAtRestart(const CauseContext& context, const Difference& difference) {
  return difference.reference_tensor >= 0 && difference.where.step == context.compare.first_step &&
         difference.where.layer <= Layer::kD3 &&
         (difference.subject == Subject::kTensor || difference.subject == Subject::kMissingTensor);
}

}  // namespace

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

std::int64_t InitialStep(const RunView& reference) {
  std::int64_t first = INT64_MAX;
  for (const StateView& state : reference.States()) {
    first = std::min(first, state.step);
  }
  return first;
}

std::optional<std::string> ScalarAt(const RunView& view, std::int64_t step,
                                    const std::string& name) {
  for (const StateView* state : view.StatesAt(step)) {
    const auto at = state->scalars.find(name);
    if (at != state->scalars.end() && !at->second.empty()) {
      return at->second.front().second;
    }
  }
  return std::nullopt;
}

GroupEvidence Examine(CauseContext& context,
                      const std::function<bool(const TensorRecord&)>& selects) {
  GroupEvidence group;
  const RunView& reference = *context.compare.reference;
  for (std::size_t i = 0; i < reference.Tensors().size(); ++i) {
    group.tensor_count += selects(reference.Tensors()[i].record) ? 1 : 0;
  }
  const std::int64_t initial_step = InitialStep(reference);
  std::map<std::int64_t, int> other_steps;
  for (const Difference& difference : context.differences) {
    if (!IsAtRestart(context, difference)) {
      continue;
    }
    const auto id = static_cast<std::size_t>(difference.reference_tensor);
    if (!selects(reference.Tensors()[id].record)) {
      continue;
    }
    ++group.differing;
    const TensorReadings readings = ReadingsOf(context.compare, difference.reference_tensor);
    CountReadings(readings, group);
    Origin origin;
    if (difference.subject == Subject::kMissingTensor) {
      ++group.absent;
    } else {
      origin = context.index->Find(difference.reference_tensor, context.compare.first_step,
                                   difference.actual);
      CountOrigin(origin, initial_step, other_steps, group);
    }
    if (group.example.empty()) {
      const std::string shown = Show(origin);
      group.example = fmt::format("{} ({}{}{})", difference.where.name, Show(readings),
                                  shown.empty() ? "" : "; ", shown);
    }
  }
  for (const auto& [step, count] : other_steps) {
    if (count > group.at_other_step) {
      group.at_other_step = count;
      group.other_step = step;
    }
  }
  return group;
}

std::optional<CauseFinding> ExplainLostGroup(const GroupEvidence& group,
                                             const LostGroupNames& names) {
  // Bits of another step of the run say that something was restored: other rules speak about that.
  if (group.differing == 0 || group.mixed + group.at_other_step > 0) {
    return std::nullopt;
  }
  const auto found = [&](const std::string& name,
                         std::string_view why) -> std::optional<CauseFinding> {
    if (name.empty()) {
      return std::nullopt;
    }
    return CauseFinding{name,
                        fmt::format("{} of {} tensors differ: {}; for example {}", group.differing,
                                    group.tensor_count, why, group.example),
                        true};
  };
  if (group.file_known && group.file_absent == group.differing) {
    return found(names.missing, "the checkpoint that was restored does not hold them");
  }
  if (group.restored_equal == group.differing) {
    return found(names.overwritten, "right after the load, wrong before the first forward");
  }
  if (group.file_equal == group.differing) {
    return found(names.never_applied, "the checkpoint holds the right values");
  }
  if (group.AllFresh()) {
    return found(names.not_restored, "they are as at the start of the run");
  }
  return std::nullopt;
}

}  // namespace reprise
