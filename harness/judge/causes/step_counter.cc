// All of the state is that of one other step: the counter is wrong, not the state.

#include <fmt/format.h>

#include "harness/judge/causes/cause_rule.h"

namespace reprise {
namespace {

constexpr const char* kOffByOne = "step_counter: off by one";
constexpr const char* kContradiction = "step_counter: changed between load and first forward";
constexpr const char* kOtherStep = "step_counter: of another step than the state";

// The restart contradicts itself: the step that it restored and that of its first state.
CauseFinding FromRecords(const Difference& first) {
  return {
      kContradiction,
      fmt::format("the restart said that it restored step {}, and its first state is of step {}",
                  first.where.expected, first.where.actual)};
}

std::optional<CauseFinding> Find(CauseContext& context) {
  const Difference* first = context.First();
  const std::int64_t r = context.compare.first_step;
  if (first == nullptr || first->where.layer != Layer::kD1 || first->where.step != r) {
    return std::nullopt;
  }
  if (first->subject == Subject::kScalar && first->component == "step") {
    return FromRecords(*first);
  }
  const GroupEvidence weights = Examine(
      context, [](const TensorRecord& record) { return StartsWith(record.component, "weights"); });
  const GroupEvidence all = Examine(context, [](const TensorRecord&) { return true; });
  if (!weights.AllDiffer() || all.at_other_step < all.differing || all.other_step < 0) {
    return std::nullopt;
  }
  const std::int64_t distance = r > all.other_step ? r - all.other_step : all.other_step - r;
  return CauseFinding{distance == 1 ? kOffByOne : kOtherStep,
                      fmt::format("the restart says step {}; all {} tensors that differ are those "
                                  "of step {}",
                                  r, all.differing, all.other_step)};
}

}  // namespace

CauseRule StepCounterRule() { return {{kOffByOne, kContradiction, kOtherStep}, "D1", Find}; }

}  // namespace reprise
