// A finished run was started again, and it did not stay as it was.
//
// Models: a scheduler that requeues a job which had ended; a trainer that counts its steps from the
// restart, or saves once more at every end (a widely used one does both, and rotates its final
// checkpoint away).

#include <fmt/format.h>

#include "harness/judge/causes/cause_rule.h"
#include "harness/judge/end_check.h"

namespace reprise {
namespace {

constexpr const char* kTrainedOn = "finish: trained on after the last step";
constexpr const char* kChanged = "finish: newest checkpoint changed";

std::optional<CauseFinding> Find(CauseContext& context) {
  const JudgeInput& input = *context.input;
  if (!input.the_case->IsFinishedAgain()) {
    return std::nullopt;
  }
  if (context.verdict == Verdict::kOverrun) {
    return CauseFinding{
        kTrainedOn,
        fmt::format("nothing was done to either life: the first ended after step "
                    "{}, as the reference did, and the second went on to step {}",
                    context.compare.reference->LastStep(), context.compare.run->LastStep())};
  }
  if (const auto changed = ChangeOfNewestCheckpoint(input);
      changed && context.verdict == Verdict::kDiverged && context.differences.empty()) {
    return CauseFinding{kChanged,
                        fmt::format("nothing was done to either life; after the second, step {} "
                                    "has {}: {}",
                                    changed->step, changed->actual, changed->detail)};
  }
  return std::nullopt;
}

}  // namespace

CauseRule FinishedRunRule() { return {{kTrainedOn, kChanged}, "D0", Find}; }

}  // namespace reprise
