// An older checkpoint was chosen although a newer sound one was there.

#include <fmt/format.h>

#include "harness/judge/causes/cause_rule.h"

namespace reprise {
namespace {

constexpr const char* kOrder = "selection: order";

const StoredCheckpoint* FindSound(const JudgeInput& input, std::int64_t step) {
  for (const StoredCheckpoint& stored : input.stored) {
    if (stored.step == step && stored.error.empty() && stored.missing_files.empty()) {
      return &stored;
    }
  }
  return nullptr;
}

std::optional<CauseFinding> Find(CauseContext& context) {
  const Contract& contract = *context.contract;
  const std::int64_t restored = context.compare.first_step;
  if (context.verdict != Verdict::kLostProgress || !contract.stored_known ||
      contract.sound.empty() || *contract.sound.rbegin() <= restored) {
    return std::nullopt;
  }
  const std::int64_t newest = *contract.sound.rbegin();
  const StoredCheckpoint* chosen = FindSound(*context.input, restored);
  const StoredCheckpoint* missed = FindSound(*context.input, newest);
  std::string evidence =
      fmt::format("restored step {}; step {} was there and can be read", restored, newest);
  if (chosen != nullptr && missed != nullptr && chosen->name > missed->name) {
    evidence += fmt::format("; as text, \"{}\" sorts after \"{}\"", chosen->name, missed->name);
  }
  return CauseFinding{kOrder, evidence};
}

}  // namespace

CauseRule SelectionRule() { return {{kOrder}, "D0", Find}; }

}  // namespace reprise
