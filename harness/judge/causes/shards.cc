// Parts of the state belong to another step than the rest.

#include <fmt/format.h>

#include "harness/judge/causes/cause_rule.h"

namespace reprise {
namespace {

constexpr const char* kStale = "shards: stale shard";
constexpr const char* kMixed = "shards: mixed steps";

std::optional<CauseFinding> Find(CauseContext& context) {
  const Difference* first = context.First();
  if (first == nullptr || first->subject != Subject::kTensor ||
      first->where.step != context.compare.first_step || first->where.layer != Layer::kD1) {
    return std::nullopt;
  }
  const GroupEvidence all = Examine(context, [](const TensorRecord&) { return true; });
  const Origin origin =
      context.index->Find(first->reference_tensor, first->where.step, first->actual);
  if (origin.kind == OriginKind::kMixed) {
    return CauseFinding{kStale, fmt::format("{}: {}; {} of {} tensors differ", first->where.name,
                                            Show(origin), all.differing, all.tensor_count)};
  }
  // Whole tensors of another step beside right ones, and nothing that another step does not
  // explain.
  const bool is_explained = all.at_other_step + all.mixed + all.at_initial_step == all.differing;
  if (all.at_other_step > 0 && is_explained && !all.AllDiffer()) {
    return CauseFinding{kMixed,
                        fmt::format("{} of {} tensors are those of step {}, others those of "
                                    "step {}; for example {}",
                                    all.at_other_step, all.tensor_count, all.other_step,
                                    context.compare.first_step, all.example)};
  }
  return std::nullopt;
}

}  // namespace

CauseRule ShardsRule() { return {{kStale, kMixed}, "D1", Find}; }

}  // namespace reprise
