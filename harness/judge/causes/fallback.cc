// The restart began from scratch and said nothing.

#include <fmt/format.h>

#include "harness/judge/causes/cause_rule.h"

namespace reprise {
namespace {

constexpr const char* kSilent = "fallback: silent restart from scratch";

std::optional<CauseFinding> Find(CauseContext& context) {
  if (context.verdict != Verdict::kSilentRestart) {
    return std::nullopt;
  }
  const std::string left =
      !context.contract->stored_known   ? "what was left in the folder is not known"
      : context.contract->sound.empty() ? "no readable checkpoint was left"
                                        : fmt::format("a readable checkpoint of step {} was left",
                                                      *context.contract->sound.rbegin());
  return CauseFinding{kSilent,
                      fmt::format("step {} had been acknowledged, the restart said that it "
                                  "restored step 0, and no error ended it; {}",
                                  context.contract->acknowledged, left)};
}

}  // namespace

CauseRule FallbackRule() { return {{kSilent}, "D0", Find}; }

}  // namespace reprise
