// The weights: not restored, overwritten, or no longer tied.

#include <fmt/format.h>

#include "harness/judge/causes/cause_rule.h"

namespace reprise {
namespace {

constexpr const char* kTie = "weights: tie lost";
constexpr const char* kMissing = "weights: missing in checkpoint";
constexpr const char* kNotRestored = "weights: not restored";
constexpr const char* kOverwritten = "weights: overwritten after load";
constexpr const char* kReplicas = "weights: replicas differ after load";
constexpr const char* kBuffers = "buffers: not restored";

std::optional<CauseFinding> FindTie(const CauseContext& context, const Difference& first) {
  const std::string& tied =
      context.compare.reference->Tensors()[static_cast<std::size_t>(first.reference_tensor)]
          .record.alias_of;
  if (tied.empty()) {
    return std::nullopt;
  }
  return CauseFinding{kTie, fmt::format("{} shares the storage of {} in the reference and has {} "
                                        "after the restart; the values are equal",
                                        first.where.name, tied, first.where.actual)};
}

std::optional<CauseFinding> Find(CauseContext& context) {
  const Difference* first = context.First();
  if (first == nullptr || first->reference_tensor < 0 ||
      first->where.step != context.compare.first_step) {
    return std::nullopt;
  }
  if (first->subject == Subject::kAlias) {
    return FindTie(context, *first);
  }
  const bool is_weight = StartsWith(first->component, "weights");
  if (!is_weight && !StartsWith(first->component, "buffers")) {
    return std::nullopt;
  }
  if (first->subject == Subject::kReplicas) {
    return is_weight
               ? std::optional(CauseFinding{
                     kReplicas, fmt::format("{}: {}", first->where.name, first->where.actual)})
               : std::nullopt;
  }
  const GroupEvidence group = Examine(
      context, [&](const TensorRecord& record) { return record.component == first->component; });
  if (!is_weight) {
    return ExplainLostGroup(group, {kBuffers, kBuffers, {}, kBuffers});
  }
  return ExplainLostGroup(group, {kMissing, kNotRestored, kOverwritten, kNotRestored});
}

}  // namespace

CauseRule WeightsRule() {
  return {{kTie, kMissing, kNotRestored, kOverwritten, kReplicas, kBuffers}, "D1", Find};
}

}  // namespace reprise
