// The end of an attempt; see end_check.h and section "Verdicts" of docs/user-guide.md.

#include "harness/judge/end_check.h"

#include <fmt/format.h>

#include <algorithm>

namespace reprise {
namespace {

bool HasFaultEvent(const AttemptResult& result) {
  return std::any_of(result.events.begin(), result.events.end(), [](const AttemptEvent& event) {
    return std::holds_alternative<FaultEvent>(event);
  });
}

Outcome Say(Verdict verdict, std::string why) {
  Outcome outcome;
  outcome.verdict = verdict;
  outcome.why = std::move(why);
  return outcome;
}

// What is wrong with the unsound ones, for the detail of a divergence.
std::string ErrorsOf(const std::vector<StoredCheckpoint>& checkpoints) {
  std::string errors;
  for (const StoredCheckpoint& stored : checkpoints) {
    if (!stored.IsSound()) {
      errors += fmt::format("{}{}: {}", errors.empty() ? "" : "; ", stored.name,
                            stored.error.empty() ? "files are missing" : stored.error);
    }
  }
  return errors;
}

const StoredCheckpoint* NewestSound(const std::vector<StoredCheckpoint>& checkpoints,
                                    std::optional<std::int64_t> step = {}) {
  const StoredCheckpoint* newest = nullptr;
  for (const StoredCheckpoint& stored : checkpoints) {
    const bool is_wanted = stored.IsSound() && (!step || stored.step == *step);
    if (is_wanted && (newest == nullptr || stored.step > newest->step)) {
      newest = &stored;
    }
  }
  return newest;
}

// The first entry of `wanted` that `seen` has otherwise or not at all, or the first that only
// `seen` has; nothing when they are equal.
template <typename Map, typename Same>
std::optional<std::string> FirstChanged(const Map& wanted, const Map& seen, Same same) {
  for (const auto& [name, value] : wanted) {
    const auto found = seen.find(name);
    if (found == seen.end() || !same(value, found->second)) {
      return name;
    }
  }
  for (const auto& [name, value] : seen) {
    if (!wanted.contains(name)) {
      return name;
    }
  }
  return std::nullopt;
}

}  // namespace

bool WasHitByFault(const AttemptEvidence& attempt) {
  return attempt.result.end == AttemptEnd::kFault || HasFaultEvent(attempt.result) ||
         std::any_of(attempt.result.ranks.begin(), attempt.result.ranks.end(),
                     [](const RankResult& rank) { return rank.end == RankEnd::kKilledByFault; });
}

bool WasCut(const AttemptEvidence& attempt) {
  return WasHitByFault(attempt) || !EndingOf(attempt.result).IsClean();
}

bool ShowsSave(const AttemptEvidence& attempt) {
  const auto writes = [](const AttemptEvent& event) {
    const auto* at = std::get_if<OperationEvent>(&event);
    return at != nullptr && at->operation.kind != OperationKind::kMakeFolder &&
           at->operation.kind != OperationKind::kAttributes;
  };
  const auto saves = [](const LogRecord& record) {
    return std::holds_alternative<SaveBeginRecord>(record) ||
           std::holds_alternative<SaveAckRecord>(record);
  };
  return std::any_of(attempt.result.events.begin(), attempt.result.events.end(), writes) ||
         std::any_of(attempt.logbooks.begin(), attempt.logbooks.end(), [&](const Logbook& book) {
           return std::any_of(book.records.begin(), book.records.end(), saves);
         });
}

Outcome HungOutcome(const AttemptEvidence& attempt, const RunView& view) {
  Outcome outcome = Say(Verdict::kHung, attempt.result.end == AttemptEnd::kTimeout
                                            ? "no end before the limit of wall time"
                                            : "no progress before the deadline");
  const std::int64_t last = std::max<std::int64_t>(view.LastStep(), 0);
  outcome.divergence = {
      Layer::kD0,           last, -1, "progress", "an end of the attempt", outcome.why,
      attempt.result.stacks};
  return outcome;
}

void SetEndDivergence(const Ending& ending, const AttemptEvidence& attempt, std::int64_t step,
                      Outcome& outcome) {
  const std::string said = LastErrorLine(attempt.result).value_or("no error line");
  const bool by_signal = ending.signal_rank.has_value();
  const int rank = by_signal ? *ending.signal_rank : *ending.error_rank;
  outcome.divergence = {
      Layer::kD0, step,
      rank,       "exit status",
      "0",        fmt::format("{} {}", by_signal ? "signal" : "exit status", ending.status),
      said};
  outcome.why = fmt::format("rank {} ended with {} after step {}: {}", rank,
                            outcome.divergence->actual, step, said);
}

std::optional<Outcome> CheckEnd(const AttemptEvidence& attempt, const RunView& view,
                                const RunView& reference, std::int64_t first_step) {
  const Ending ending = EndingOf(attempt.result);
  const std::int64_t last = std::max(view.EndStep().value_or(view.LastStep()), view.LastStep());
  const std::int64_t step = std::max(last, first_step);
  if (ending.hung) {
    Outcome outcome = Say(Verdict::kHung, fmt::format("hung after step {}", step));
    outcome.divergence = {
        Layer::kD0,           step, -1, "progress", "an end of the attempt", outcome.why,
        attempt.result.stacks};
    return outcome;
  }
  if (ending.by_fault || WasHitByFault(attempt)) {
    return std::nullopt;
  }
  if (ending.signal_rank || ending.error_rank) {
    Outcome outcome = Say(Verdict::kCrashed, {});
    SetEndDivergence(ending, attempt, step, outcome);
    return outcome;
  }
  const std::int64_t wanted = reference.EndStep().value_or(reference.LastStep());
  if (step == wanted) {
    return std::nullopt;
  }
  const bool is_short = step < wanted;
  Outcome outcome = Say(is_short ? Verdict::kShort : Verdict::kOverrun,
                        fmt::format("ended without an error after step {}, the reference after "
                                    "step {}",
                                    step, wanted));
  outcome.divergence = {Layer::kD0,  std::min(step, wanted), -1,
                        "last step", std::to_string(wanted), std::to_string(step),
                        {}};
  return outcome;
}

std::optional<Outcome> CheckFolderAtEnd(const JudgeInput& input, std::int64_t acknowledged_by_last,
                                        std::int64_t acknowledged_before, bool was_damaged) {
  const bool owes_older = acknowledged_before > 0 && !was_damaged;
  if (!input.stored_at_end_known || (acknowledged_by_last < 0 && !owes_older)) {
    return std::nullopt;
  }
  std::int64_t newest = -1;
  for (const StoredCheckpoint& stored : input.stored_at_end) {
    newest = stored.IsSound() ? std::max(newest, stored.step) : newest;
  }
  const std::int64_t owed = acknowledged_by_last < 0 ? acknowledged_before : acknowledged_by_last;
  const bool is_lost = newest < 0;
  if (!is_lost && newest >= acknowledged_by_last) {
    return std::nullopt;
  }
  const std::string found =
      is_lost ? "no readable checkpoint" : fmt::format("a checkpoint of step {}", newest);
  Outcome outcome = Say(is_lost ? Verdict::kCheckpointLost : Verdict::kLostProgress,
                        fmt::format("the restart ended without an error and step {} had been "
                                    "acknowledged, but {} is what it leaves as the newest",
                                    owed, found));
  outcome.divergence = {Layer::kD0,
                        owed,
                        -1,
                        "checkpoint at the end",
                        fmt::format("a checkpoint of step {}", owed),
                        found,
                        ErrorsOf(input.stored_at_end)};
  return outcome;
}

std::optional<Divergence> ChangeOfNewestCheckpoint(const JudgeInput& input) {
  const StoredCheckpoint* before = NewestSound(input.stored);
  if (!input.the_case->IsFinishedAgain() || !input.format_known || !input.stored_at_end_known ||
      before == nullptr) {
    return std::nullopt;
  }
  Divergence where;
  where.step = before->step;
  where.name = "newest checkpoint";
  where.expected = before->name + " as the finished run left it";
  const StoredCheckpoint* after = NewestSound(input.stored_at_end, before->step);
  if (after == nullptr) {
    where.actual = "gone, or no longer readable";
    where.detail = ErrorsOf(input.stored_at_end);
    return where;
  }
  auto changed = FirstChanged(before->tensors, after->tensors, [](const auto& a, const auto& b) {
    return a.sum == b.sum && a.record.dtype == b.record.dtype &&
           a.record.global_shape == b.record.global_shape;
  });
  if (!changed) {
    changed = FirstChanged(before->scalars, after->scalars,
                           [](const auto& a, const auto& b) { return a == b; });
  }
  if (!changed) {
    return std::nullopt;
  }
  where.actual = "another content";
  where.detail = "first in " + *changed;
  return where;
}

}  // namespace reprise
