// The target itself destroyed its last good checkpoint before the next one was acknowledged.
//
// Models: one path, truncated on open; retention that removes the old checkpoint first.

#include <fmt/format.h>

#include "harness/judge/causes/cause_rule.h"
#include "harness/judge/causes/operation_story.h"

namespace reprise {
namespace {

constexpr const char* kDestroyed = "checkpoint: last good one destroyed";

// Moves names below `from` to `to`.
void Rename(std::set<std::string>& files, const std::string& from, const std::string& to) {
  std::set<std::string> moved;
  for (const std::string& file : files) {
    moved.insert(LiesBelow(file, from) ? to + file.substr(from.size()) : file);
  }
  files = std::move(moved);
}

// What the operation takes away from `files`, or nothing. A rename over a file replaces it whole,
// which is how pointers are moved on: no loss by itself.
bool Destroys(const Operation& operation, const std::set<std::string>& files) {
  const bool removes =
      operation.kind == OperationKind::kUnlink || operation.kind == OperationKind::kTruncate ||
      (operation.kind == OperationKind::kOpen && operation.truncates && !operation.creates);
  return removes && files.contains(operation.path);
}

std::optional<CauseFinding> Find(CauseContext& context) {
  const Contract& contract = *context.contract;
  const bool may_have_lost =
      context.verdict == Verdict::kCheckpointLost || context.verdict == Verdict::kRefusedWrongly ||
      context.verdict == Verdict::kSilentRestart || context.verdict == Verdict::kLostProgress;
  if (context.before == nullptr || contract.damaged || !may_have_lost ||
      (contract.stored_known && contract.AcknowledgedIsSound())) {
    return std::nullopt;
  }
  std::set<std::string> written;    // since the last acknowledgement
  std::set<std::string> last_good;  // files of the acknowledged checkpoint
  std::int64_t step = -1;
  const Operation* destroyer = nullptr;
  for (const StoryEvent& event : StoryOf(*context.before)) {
    if (event.operation == nullptr) {
      last_good = std::move(written);
      written.clear();
      step = event.acknowledged_step;
      destroyer = nullptr;
      continue;
    }
    const Operation& operation = *event.operation;
    if (destroyer == nullptr && Destroys(operation, last_good)) {
      destroyer = &operation;
    }
    if (operation.kind == OperationKind::kRename) {
      Rename(written, operation.path, operation.second_path);
    } else if (operation.kind == OperationKind::kOpen || operation.kind == OperationKind::kWrite) {
      written.insert(operation.path);
    }
  }
  if (destroyer == nullptr) {
    return std::nullopt;
  }
  return CauseFinding{kDestroyed, fmt::format("the checkpoint of step {} was acknowledged; then {} "
                                              "took its content away, and no later save was "
                                              "acknowledged",
                                              step, Show(*destroyer))};
}

}  // namespace

CauseRule CheckpointDestroyedRule() { return {{kDestroyed}, "D0", Find}; }

}  // namespace reprise
