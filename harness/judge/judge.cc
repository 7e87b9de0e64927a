// From evidence to verdict: reference rule, contract, layers, cause. See judge.h.

#include "harness/judge/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "harness/judge/causes/cause_rule.h"
#include "harness/judge/contract.h"
#include "harness/judge/digest_index.h"
#include "harness/judge/layers.h"
#include "harness/judge/run_view.h"

namespace reprise {
namespace {

constexpr std::size_t kMaxConsequences = 20;

std::string Describe(const Divergence& where) {
  return fmt::format("{} at step {}: {}{} is {}, expected {}", ToText(where.layer), where.step,
                     where.name, where.rank >= 0 ? fmt::format(" of rank {}", where.rank) : "",
                     where.actual, where.expected);
}

Outcome Say(Verdict verdict, std::string why) {
  Outcome outcome;
  outcome.verdict = verdict;
  outcome.why = std::move(why);
  return outcome;
}

bool StartsKill(const Fault& fault) { return fault.kind.rfind("kill", 0) == 0; }

bool HasFaultEvent(const AttemptResult& result) {
  return std::any_of(result.events.begin(), result.events.end(), [](const AttemptEvent& event) {
    return std::holds_alternative<FaultEvent>(event);
  });
}

bool WasHitByFault(const AttemptEvidence& attempt) {
  return attempt.result.end == AttemptEnd::kFault || HasFaultEvent(attempt.result) ||
         std::any_of(attempt.result.ranks.begin(), attempt.result.ranks.end(),
                     [](const RankResult& rank) { return rank.end == RankEnd::kKilledByFault; });
}

class CaseJudge {
 public:
  explicit CaseJudge(const JudgeInput& input)
      : input_(input), reference_(*input.reference), index_(reference_) {
    for (const AttemptEvidence& attempt : input.attempts) {
      views_.push_back(std::make_unique<RunView>(attempt));
    }
  }

  Outcome Take() {
    if (reference_.LastStep() < 0 && reference_.States().empty()) {
      return Say(Verdict::kCannotJudge, "the reference run has no record of any step or state");
    }
    if (input_.attempts.size() == 1) {
      return JudgeWhole();
    }
    if (const auto reason = NotExercised()) {
      return Say(Verdict::kNotExercised, *reason);
    }
    if (auto broken = CheckFirstAttempt()) {
      return *std::move(broken);
    }
    Outcome outcome;
    for (std::size_t i = 1; i < views_.size(); ++i) {
      outcome = JudgeRestart(i);
      if (IsFinding(outcome.verdict) || ProvedNothing(outcome.verdict)) {
        return outcome;
      }
    }
    return outcome;
  }

 private:
  // Another run without any fault: calibration, or another world size.
  Outcome JudgeWhole() {
    const AttemptEvidence& attempt = input_.attempts.front();
    if (!input_.the_case->faults.empty()) {
      return Say(Verdict::kNotExercised, "the case has a fault and only one attempt was made");
    }
    Outcome outcome;
    outcome.restored_step = 0;
    outcome.expected_step = 0;
    outcome.verdict = Verdict::kExact;
    CompareAndConclude(0, 0, attempt, outcome);
    return outcome;
  }

  std::optional<std::string> NotExercised() const {
    for (const Fault& fault : input_.the_case->faults) {
      const auto attempt = static_cast<std::size_t>(std::max(fault.attempt, 0));
      const bool was_hit =
          attempt < input_.attempts.size() && WasHitByFault(input_.attempts[attempt]);
      if (StartsKill(fault) && !was_hit) {
        return fmt::format("{} did not fire: attempt {} ended by itself before it", fault.kind,
                           fault.attempt);
      }
      if (!StartsKill(fault) && !input_.damaged && !was_hit) {
        return fmt::format("{} did not fire: the checkpoint folder is as the target left it",
                           fault.kind);
      }
    }
    return std::nullopt;
  }

  // The run that wrote the checkpoints must be the reference run, as far as it came.
  std::optional<Outcome> CheckFirstAttempt() {
    const AttemptEvidence& attempt = input_.attempts.front();
    const Ending ending = EndingOf(attempt.result);
    if (!WasHitByFault(attempt)) {
      if (ending.hung) {
        return Hung(0, attempt);
      }
      if (ending.signal_rank || ending.error_rank) {
        return Say(Verdict::kCannotJudge,
                   "the first attempt failed by itself, before any restart: " +
                       LastErrorLine(attempt.result).value_or("no error line"));
      }
    }
    const CompareSpec spec{&reference_, views_.front().get(), nullptr, 0, true};
    const Comparison comparison = Compare(spec);
    if (comparison.differences.empty()) {
      return std::nullopt;
    }
    Outcome outcome = Say(Verdict::kCannotJudge, {});
    outcome.divergence = comparison.differences.front().where;
    outcome.why = "the killed attempt is not the reference run (is the target deterministic?): " +
                  Describe(*outcome.divergence);
    return outcome;
  }

  Outcome JudgeRestart(std::size_t attempt_index) {
    const AttemptEvidence& attempt = input_.attempts[attempt_index];
    const RunView& view = *views_[attempt_index];
    std::vector<const RunView*> before;
    for (std::size_t i = 0; i < attempt_index; ++i) {
      before.push_back(views_[i].get());
    }
    const bool is_last = attempt_index + 1 == views_.size();
    contract_ = MakeContract(input_, before, is_last);
    if (!is_last && WasHitByFault(attempt) && view.Restored().empty()) {
      return Say(Verdict::kExact, {});  // killed again before it had loaded anything: owes nothing
    }
    const ContractFinding found = CheckContract(contract_, attempt, view);
    Outcome outcome = Say(Verdict::kExact, found.why);
    outcome.restored_step = found.restored_step;
    outcome.expected_step = found.expected_step;
    outcome.announced = found.announced;
    if (found.restored_step >= 0) {
      outcome.lost_steps =
          std::max<std::int64_t>(LastStepBefore(attempt_index) - found.restored_step, 0);
    }
    if (found.verdict && *found.verdict != Verdict::kExactFallback) {
      outcome.verdict = *found.verdict;
      if (IsFinding(outcome.verdict)) {
        SetContractDivergence(found, outcome);
        NameCause(attempt_index, {}, found.restored_step, outcome);
      }
      return outcome;
    }
    if (found.restored_step < 0) {
      return NothingRestored(attempt_index, outcome);
    }
    if (auto split = CheckRanksAgree(view, outcome)) {
      return *std::move(split);
    }
    outcome.verdict = found.verdict.value_or(Verdict::kExact);
    CompareAndConclude(attempt_index, found.restored_step, attempt, outcome);
    return outcome;
  }

  // Ranks that restored different steps are no run at all.
  static std::optional<Outcome> CheckRanksAgree(const RunView& view, Outcome outcome) {
    const RestoredRecord& first = *view.Restored().front().second;
    for (const auto& [rank, record] : view.Restored()) {
      if (record->step != first.step) {
        outcome.verdict = Verdict::kDiverged;
        outcome.divergence = {Layer::kD0,
                              first.step,
                              rank,
                              "restored step",
                              std::to_string(first.step),
                              std::to_string(record->step),
                              "the ranks restored different steps"};
        outcome.why = Describe(*outcome.divergence);
        return outcome;
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] std::int64_t LastStepBefore(std::size_t attempt_index) const {
    const std::int64_t last = views_[attempt_index - 1]->LastStep();
    return std::max<std::int64_t>(last, 0);
  }

  static void SetContractDivergence(const ContractFinding& found, Outcome& outcome) {
    Divergence where;
    where.step = std::max<std::int64_t>(found.expected_step, 0);
    if (found.restored_step >= 0) {
      where.name = "restored step";
      where.expected = std::to_string(found.expected_step);
      where.actual = std::to_string(found.restored_step);
    } else {
      where.name = "exit status";
      where.expected = fmt::format("a restart from step {}", found.expected_step);
      where.actual = "an error";
    }
    where.detail = found.why;
    outcome.divergence = where;
  }

  // No `restored` record and no error exit.
  Outcome NothingRestored(std::size_t attempt_index, Outcome outcome) {
    const AttemptEvidence& attempt = input_.attempts[attempt_index];
    const Ending ending = EndingOf(attempt.result);
    if (ending.hung) {
      return Hung(attempt_index, attempt);
    }
    if (ending.signal_rank) {
      outcome.verdict = Verdict::kCrashed;
      SetEndDivergence(ending, attempt, std::max<std::int64_t>(contract_.acknowledged, 0), outcome);
      NameCause(attempt_index, {}, -1, outcome);
      return outcome;
    }
    return Say(Verdict::kCannotJudge,
               "the restart wrote no `restored` record, so the step at which it began is unknown");
  }

  Outcome Hung(std::size_t attempt_index, const AttemptEvidence& attempt) {
    Outcome outcome = Say(Verdict::kHung, attempt.result.end == AttemptEnd::kTimeout
                                              ? "no end before the limit of wall time"
                                              : "no progress before the deadline");
    const std::int64_t last = std::max<std::int64_t>(views_[attempt_index]->LastStep(), 0);
    outcome.divergence = {
        Layer::kD0,           last, -1, "progress", "an end of the attempt", outcome.why,
        attempt.result.stacks};
    return outcome;
  }

  // Compares from `first_step`; then the end of the attempt, unless a fault ended it.
  void CompareAndConclude(std::size_t attempt_index, std::int64_t first_step,
                          const AttemptEvidence& attempt, Outcome& outcome) {
    const RunView& view = *views_[attempt_index];
    const bool world_changed = reference_.World() != view.World();
    CompareSpec spec{&reference_, &view, nullptr, first_step, true};
    spec.trajectory = !world_changed || input_.target->world_invariant;
    spec.loaded = Loaded(attempt_index);
    if (!spec.trajectory) {
      Append(outcome.why,
             fmt::format("the world size changed from {} to {} and the target does not declare its "
                         "trajectory invariant: only the restored state was compared",
                         reference_.World(), view.World()));
    }
    Comparison comparison = Compare(spec);
    if (!spec.trajectory) {
      DropRandomState(comparison);
    }
    Conclude(attempt_index, first_step, attempt, std::move(comparison), outcome);
  }

  // Generators belong to ranks where no logical workers are declared.
  static void DropRandomState(Comparison& comparison) {
    std::erase_if(comparison.differences,
                  [](const Difference& difference) { return IsRandomState(difference.component); });
  }

  void Conclude(std::size_t attempt_index, std::int64_t first_step, const AttemptEvidence& attempt,
                Comparison comparison, Outcome& outcome) {
    const RunView& view = *views_[attempt_index];
    const Ending ending = EndingOf(attempt.result);
    const auto end = CheckEnd(ending, attempt, view, first_step);
    if (!comparison.differences.empty()) {
      outcome.verdict = Verdict::kDiverged;
      outcome.divergence = comparison.differences.front().where;
      AddConsequences(comparison.differences, outcome);
      if (end) {
        outcome.consequences.push_back(end->why);
      }
      ExplainFirst(comparison.differences.front(), outcome);
      outcome.why = Describe(*outcome.divergence);
      NameCause(attempt_index, std::move(comparison.differences), first_step, outcome);
    } else if (end) {
      outcome.verdict = end->verdict;
      outcome.why = end->why;
      outcome.divergence = end->divergence;
      NameCause(attempt_index, {}, first_step, outcome);
    } else if (comparison.compared_count == 0 && reference_.LastStep() > first_step &&
               !WasHitByFault(attempt)) {
      outcome = Say(Verdict::kCannotJudge,
                    "the restart recorded nothing that the reference recorded too");
    }
  }

  // Of D0, what can be said only at the end. Nothing when the attempt ended as it should.
  std::optional<Outcome> CheckEnd(const Ending& ending, const AttemptEvidence& attempt,
                                  const RunView& view, std::int64_t first_step) {
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
    const std::int64_t wanted = reference_.EndStep().value_or(reference_.LastStep());
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

  static void SetEndDivergence(const Ending& ending, const AttemptEvidence& attempt,
                               std::int64_t step, Outcome& outcome) {
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

  // The checkpoint that the restart says it loaded. Only the last restart's folder was read.
  [[nodiscard]] const StoredCheckpoint* Loaded(std::size_t attempt_index) const {
    const RunView& view = *views_[attempt_index];
    if (!input_.format_known || attempt_index + 1 != views_.size() || view.Restored().empty()) {
      return nullptr;
    }
    const RestoredRecord& restored = *view.Restored().front().second;
    const auto at = std::find_if(
        input_.stored.begin(), input_.stored.end(), [&](const StoredCheckpoint& stored) {
          return restored.checkpoint.empty() ? stored.step == restored.step && restored.step > 0
                                             : stored.name == restored.checkpoint;
        });
    return at == input_.stored.end() ? nullptr : &*at;
  }

  void ExplainFirst(const Difference& first, Outcome& outcome) {
    if (first.reference_tensor < 0 || first.subject != Subject::kTensor) {
      return;
    }
    const std::string origin =
        Show(index_.Find(first.reference_tensor, first.where.step, first.actual));
    if (!origin.empty()) {
      Append(outcome.divergence->detail, origin);
    }
  }

  // One line per layer and name, from the second difference on.
  static void AddConsequences(const std::vector<Difference>& differences, Outcome& outcome) {
    std::set<std::pair<Layer, std::string>> seen;
    std::size_t left_out = 0;
    for (const Difference& difference : differences) {
      const std::string& group =
          difference.component.empty() ? difference.where.name : difference.component;
      if (!seen.emplace(difference.where.layer, group).second || seen.size() == 1) {
        continue;
      }
      if (outcome.consequences.size() == kMaxConsequences) {
        ++left_out;
        continue;
      }
      outcome.consequences.push_back(fmt::format("{} {} from step {}",
                                                 ToText(difference.where.layer),
                                                 difference.where.name, difference.where.step));
    }
    if (left_out > 0) {
      outcome.consequences.push_back(fmt::format("and {} more", left_out));
    }
  }

  void NameCause(std::size_t attempt_index, std::vector<Difference> differences,
                 std::int64_t first_step, Outcome& outcome) {
    CauseContext context;
    context.input = &input_;
    context.verdict = outcome.verdict;
    context.compare = {&reference_, views_[attempt_index].get(), Loaded(attempt_index), first_step,
                       true};
    context.contract = &contract_;
    context.differences = std::move(differences);
    context.before = attempt_index > 0 ? &input_.attempts[attempt_index - 1] : nullptr;
    context.index = &index_;
    std::string candidates;
    for (const CauseRule& rule : AllCauseRules()) {
      const std::optional<CauseFinding> found = rule.find(context);
      if (found && found->certain) {
        outcome.cause = found->cause;
        outcome.evidence = found->evidence;
        return;
      }
      if (found) {
        Append(candidates, fmt::format("possibly {}: {}", found->cause, found->evidence));
      }
    }
    outcome.evidence = candidates;
    if (outcome.evidence.empty() && outcome.divergence) {
      outcome.evidence = outcome.divergence->detail;
    }
  }

  static void Append(std::string& text, const std::string& more) {
    text += (text.empty() ? "" : "; ") + more;
  }

  const JudgeInput& input_;
  RunView reference_;
  DigestIndex index_;
  std::vector<std::unique_ptr<RunView>> views_;
  Contract contract_;
};

}  // namespace

Outcome Judge(const JudgeInput& input) { return CaseJudge(input).Take(); }

}  // namespace reprise
