// The moving average of the weights, and the counter of its warm-up.

#include <fmt/format.h>

#include "harness/judge/causes/cause_rule.h"

namespace reprise {
namespace {

constexpr const char* kNotRestored = "ema: not restored";
constexpr const char* kCounter = "ema: counter";

std::optional<CauseFinding> FindCounter(const CauseContext& context, const Difference& first) {
  if (first.subject != Subject::kScalar || !StartsWith(first.component, "ema")) {
    return std::nullopt;
  }
  return CauseFinding{kCounter,
                      fmt::format("{} is {} before the first forward, expected {}; the "
                                  "averages themselves are equal",
                                  first.where.name, first.where.actual, first.where.expected),
                      first.where.step == context.compare.first_step};
}

std::optional<CauseFinding> Find(CauseContext& context) {
  const Difference* first = context.First();
  if (first == nullptr || !StartsWith(first->component, "ema")) {
    return std::nullopt;
  }
  const GroupEvidence group = Examine(
      context, [](const TensorRecord& record) { return StartsWith(record.component, "ema"); });
  if (group.differing == 0) {
    return FindCounter(context, *first);
  }
  if (auto found = ExplainLostGroup(group, {kNotRestored, kNotRestored, {}, kNotRestored})) {
    return found;
  }
  if (group.as_other_tensor == group.differing) {
    return CauseFinding{kNotRestored,
                        "the averages are copies of other tensors, as after an initialisation from "
                        "the weights; for example " +
                            group.example};
  }
  return std::nullopt;
}

}  // namespace

CauseRule EmaRule() { return {{kNotRestored, kCounter}, "D1, D4, D5", Find}; }

}  // namespace reprise
