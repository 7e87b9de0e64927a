// The optimizer's moments: lost, never applied, overwritten, or given to other parameters.

#include <fmt/format.h>

#include "harness/judge/causes/cause_rule.h"

namespace reprise {
namespace {

constexpr const char* kMissing = "optimizer.moments: missing in checkpoint";
constexpr const char* kNeverApplied = "optimizer.moments: in file, never applied";
constexpr const char* kOverwritten = "optimizer.moments: overwritten after load";
constexpr const char* kNotRestored = "optimizer.moments: not restored";
constexpr const char* kOthers = "optimizer.moments: attached to other parameters";

bool IsMoment(const TensorRecord& record) {
  return StartsWith(record.component, "optimizer.moments");
}

std::optional<CauseFinding> Find(CauseContext& context) {
  const Difference* first = context.First();
  if (first == nullptr || !StartsWith(first->component, "optimizer.moments")) {
    return std::nullopt;
  }
  const GroupEvidence group = Examine(context, IsMoment);
  // Bits of another parameter's moments are no accident, wherever the file stands.
  if (group.differing > 0 && group.as_other_tensor == group.differing) {
    return CauseFinding{kOthers,
                        fmt::format("{} of {} moments hold the bits of another parameter's; "
                                    "for example {}",
                                    group.differing, group.tensor_count, group.example)};
  }
  return ExplainLostGroup(group, {kMissing, kNeverApplied, kOverwritten, kNotRestored});
}

}  // namespace

CauseRule OptimizerMomentsRule() {
  return {{kMissing, kNeverApplied, kOverwritten, kNotRestored, kOthers}, "D1", Find};
}

}  // namespace reprise
