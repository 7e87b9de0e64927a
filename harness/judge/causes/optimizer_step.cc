// The optimizer's own step counter, which its bias correction needs.

#include <fmt/format.h>

#include "harness/judge/causes/cause_rule.h"

namespace reprise {
namespace {

constexpr const char* kReset = "optimizer.step: reset";

std::optional<CauseFinding> FindScalar(const CauseContext& context, const Difference& first) {
  const auto initial = ScalarAt(*context.compare.reference, InitialStep(*context.compare.reference),
                                first.where.name);
  const std::string& actual = first.where.actual;
  const bool is_reset = actual == "0" || actual == "absent" || (initial && *initial == actual);
  if (!is_reset) {
    return std::nullopt;
  }
  return CauseFinding{kReset, fmt::format("{} is {} before the first forward, expected {}; the "
                                          "moments are equal",
                                          first.where.name, actual, first.where.expected)};
}

std::optional<CauseFinding> Find(CauseContext& context) {
  const Difference* first = context.First();
  if (first == nullptr || !StartsWith(first->component, "optimizer.step") ||
      first->where.step != context.compare.first_step) {
    return std::nullopt;
  }
  if (first->subject == Subject::kScalar) {
    return FindScalar(context, *first);
  }
  const GroupEvidence group = Examine(context, [](const TensorRecord& record) {
    return StartsWith(record.component, "optimizer.step");
  });
  return ExplainLostGroup(group, {kReset, kReset, kReset, kReset});
}

}  // namespace

CauseRule OptimizerStepRule() { return {{kReset}, "D4", Find}; }

}  // namespace reprise
