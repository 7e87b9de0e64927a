// The target itself destroyed its last good checkpoint before the next one was acknowledged.
//
// Models: one path, truncated on open; retention that removes the old checkpoint first.

#include <fmt/format.h>

#include "harness/judge/causes/cause_rule.h"
#include "harness/judge/causes/operation_story.h"

namespace reprise {
namespace {

constexpr const char* kDestroyed = "checkpoint: last good one destroyed";

std::optional<CauseFinding> Find(CauseContext& context) {
  const Contract& contract = *context.contract;
  const bool may_have_lost =
      context.verdict == Verdict::kCheckpointLost || context.verdict == Verdict::kRefusedWrongly ||
      context.verdict == Verdict::kSilentRestart || context.verdict == Verdict::kLostProgress;
  if (context.before == nullptr || contract.damaged || !may_have_lost ||
      (contract.stored_known && contract.AcknowledgedIsSound())) {
    return std::nullopt;
  }
  const auto destroyed = FindDestroyed(*context.before);
  if (!destroyed) {
    return std::nullopt;
  }
  return CauseFinding{kDestroyed, fmt::format("the checkpoint of step {} was acknowledged; then {} "
                                              "took its content away, and no later save was "
                                              "acknowledged",
                                              destroyed->step, Show(*destroyed->operation))};
}

}  // namespace

CauseRule CheckpointDestroyedRule() { return {{kDestroyed}, "D0", Find}; }

}  // namespace reprise
