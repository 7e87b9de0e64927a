// From evidence to verdict: reference rule, contract, layers, cause. See judge.h.

#include "harness/judge/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "harness/judge/causes/cause_rule.h"
#include "harness/judge/causes/operation_story.h"
#include "harness/judge/completeness.h"
#include "harness/judge/contract.h"
#include "harness/judge/digest_index.h"
#include "harness/judge/end_check.h"
#include "harness/judge/layers.h"
#include "harness/judge/run_view.h"
#include "injectors/injector.h"

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

// A fault of a running target; any other one changes the folder between two lives.
bool ActsLive(const Fault& fault) {
  const InjectorInfo* info = FindInjector(fault.kind);
  return info != nullptr && info->stage == InjectorStage::kLive;
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
    const std::optional<Unfired> unfired = FirstUnfired();
    if (unfired && unfired->attempt == 0) {
      return Say(Verdict::kNotExercised, unfired->why);
    }
    if (auto broken = CheckFirstAttempt()) {
      return *std::move(broken);
    }
    Outcome outcome = JudgeRestarts(unfired ? unfired->attempt : views_.size() - 1);
    if (IsFinding(outcome.verdict)) {
      return outcome;
    }
    return unfired ? Say(Verdict::kNotExercised, unfired->why) : CheckProof(std::move(outcome));
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

  struct Unfired {
    std::size_t attempt = 0;
    std::string why;
  };

  // Of the faults that did not fire, the one of the earliest life.
  [[nodiscard]] std::optional<Unfired> FirstUnfired() const {
    std::optional<Unfired> first;
    for (const Fault& fault : input_.the_case->faults) {
      const auto attempt = static_cast<std::size_t>(std::max(fault.attempt, 0));
      const bool was_hit =
          attempt < input_.attempts.size() && WasHitByFault(input_.attempts[attempt]);
      const bool was_damaged = attempt < input_.damaged_files_after.size() &&
                               !input_.damaged_files_after[attempt].empty();
      if (was_hit || (!ActsLive(fault) && was_damaged) || (first && first->attempt <= attempt)) {
        continue;
      }
      first = Unfired{
          attempt, fmt::format("{} did not fire: {}", fault.kind,
                               ActsLive(fault) ? fmt::format("attempt {} ended by itself before it",
                                                             fault.attempt)
                                               : "the checkpoint folder is as the target left it")};
    }
    return first;
  }

  // Up to the first that is a finding or proved nothing.
  Outcome JudgeRestarts(std::size_t last) {
    Outcome outcome;
    for (std::size_t i = 1; i < views_.size() && i <= last; ++i) {
      outcome = JudgeRestart(i);
      if (IsFinding(outcome.verdict) || ProvedNothing(outcome.verdict)) {
        return outcome;
      }
    }
    return outcome;
  }

  // All restarts were right: was there anything to restore, and is it there for the next one?
  Outcome CheckProof(Outcome outcome) {
    if (ProvedNothing(outcome.verdict)) {
      return outcome;
    }
    if (SavesNothing()) {
      return Say(Verdict::kNotExercised,
                 "the uninterrupted run saved nothing, so that nothing can be restored; look at "
                 "the interval of its saves, at the folder that it saves to, and whether its "
                 "command names {ckpt}");
    }
    if (WasCut(input_.attempts.back())) {
      return outcome;
    }
    std::int64_t before = -1;
    for (std::size_t i = 0; i + 1 < views_.size(); ++i) {
      before = std::max(before, NewestAcknowledged(*views_[i]));
    }
    const bool was_damaged =
        std::any_of(input_.damaged_files_after.begin(), input_.damaged_files_after.end(),
                    [](const auto& files) { return !files.empty(); });
    const auto lost =
        CheckFolderAtEnd(input_, NewestAcknowledged(*views_.back()), before, was_damaged);
    if (lost) {
      outcome.verdict = lost->verdict;
      outcome.why = lost->why;
      outcome.divergence = lost->divergence;
      outcome.evidence = lost->divergence->detail;
    } else if (const auto changed = ChangeOfNewestCheckpoint(input_)) {
      outcome.verdict = Verdict::kDiverged;
      outcome.divergence = changed;
      outcome.why = Describe(*changed);
      NameCause(views_.size() - 1, {}, outcome.restored_step, outcome);
    }
    return outcome;
  }

  static std::int64_t NewestAcknowledged(const RunView& view) {
    return view.SavesAcknowledged().empty() ? -1 : *view.SavesAcknowledged().rbegin();
  }

  // No run shows any sign of a save.
  [[nodiscard]] bool SavesNothing() const {
    if (!input_.stored.empty() || !input_.stored_at_end.empty() || ShowsSave(*input_.reference)) {
      return false;
    }
    return std::none_of(input_.attempts.begin(), input_.attempts.end(), ShowsSave) &&
           std::none_of(views_.begin(), views_.end(), [](const auto& view) {
             return !view->Restored().empty() && view->Restored().front().second->step > 0;
           });
  }

  // The run that wrote the checkpoints must be the reference run, as far as it came.
  std::optional<Outcome> CheckFirstAttempt() {
    const AttemptEvidence& attempt = input_.attempts.front();
    const Ending ending = EndingOf(attempt.result);
    if (!WasHitByFault(attempt)) {
      if (ending.hung) {
        return HungOutcome(attempt, *views_.front());
      }
      if (ending.signal_rank || ending.error_rank) {
        return Say(Verdict::kCannotJudge,
                   "the first attempt failed by itself, before any restart: " +
                       LastErrorLine(attempt.result).value_or("no error line"));
      }
    }
    const CompareSpec spec{&reference_, views_.front().get(), nullptr, 0, true, WasCut(attempt)};
    const LayerComparison comparison = Compare(spec);
    if (comparison.differences.empty()) {
      const auto missing = MissingIn(attempt, spec, comparison);
      return missing ? std::optional(
                           Say(Verdict::kCannotJudge, "the first attempt recorded " + *missing))
                     : std::nullopt;
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
    ContractFinding found = CheckContract(contract_, attempt, view);
    AccuseDestroyer(attempt_index, found);
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
        outcome.divergence = DivergenceOf(found);
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

  // Where the folder could not be read, the operation log tells whether a good checkpoint was left.
  void AccuseDestroyer(std::size_t attempt_index, ContractFinding& found) const {
    if (found.verdict != Verdict::kRefusedWrongly || contract_.stored_known || contract_.damaged) {
      return;
    }
    const auto destroyed = FindDestroyed(input_.attempts[attempt_index - 1]);
    if (destroyed && destroyed->step == contract_.acknowledged) {
      found.verdict = Verdict::kCheckpointLost;
      found.why = fmt::format(
          "step {} was acknowledged, then {} took its content away: {}", destroyed->step,
          Show(*destroyed->operation),
          LastErrorLine(input_.attempts[attempt_index].result).value_or("no error line"));
    }
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

  // No `restored` record and no error exit.
  Outcome NothingRestored(std::size_t attempt_index, Outcome outcome) {
    const AttemptEvidence& attempt = input_.attempts[attempt_index];
    const Ending ending = EndingOf(attempt.result);
    if (ending.hung) {
      return HungOutcome(attempt, *views_[attempt_index]);
    }
    if (ending.signal_rank) {
      outcome.verdict = Verdict::kCrashed;
      SetEndDivergence(ending, attempt, std::max<std::int64_t>(contract_.acknowledged, 0), outcome);
      NameCause(attempt_index, {}, -1, outcome);
      return outcome;
    }
    if (input_.the_case->IsFinishedAgain() && ending.IsClean() &&
        views_[attempt_index]->LastStep() < 0) {
      outcome.why = "the finished run ended again without loading or training anything";
      return outcome;
    }
    return Say(Verdict::kCannotJudge,
               "the restart wrote no `restored` record, so the step at which it began is unknown");
  }

  // Compares from `first_step`; then the end of the attempt, unless a fault ended it.
  void CompareAndConclude(std::size_t attempt_index, std::int64_t first_step,
                          const AttemptEvidence& attempt, Outcome& outcome) {
    const RunView& view = *views_[attempt_index];
    const bool world_changed = reference_.World() != view.World();
    CompareSpec spec{&reference_, &view, nullptr, first_step, true, WasCut(attempt)};
    spec.trajectory = !world_changed || input_.target->world_invariant;
    spec.loaded = Loaded(attempt_index);
    if (!spec.trajectory) {
      Append(outcome.why,
             fmt::format("the world size changed from {} to {} and the target does not declare its "
                         "trajectory invariant: only the restored state was compared",
                         reference_.World(), view.World()));
    }
    LayerComparison comparison = Compare(spec);
    if (!spec.trajectory) {
      DropRandomState(comparison);
    }
    Conclude(attempt_index, spec, attempt, std::move(comparison), outcome);
  }

  // Generators belong to ranks where no logical workers are declared.
  static void DropRandomState(LayerComparison& comparison) {
    std::erase_if(comparison.differences,
                  [](const Difference& difference) { return IsRandomState(difference.component); });
  }

  void Conclude(std::size_t attempt_index, const CompareSpec& spec, const AttemptEvidence& attempt,
                LayerComparison comparison, Outcome& outcome) {
    const std::int64_t first_step = spec.first_step;
    const auto end = CheckEnd(attempt, *views_[attempt_index], reference_, first_step);
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
    } else if (const auto missing = MissingIn(attempt, spec, comparison)) {
      outcome.verdict = Verdict::kCannotJudge;
      outcome.why =
          fmt::format("the {} recorded {}", attempt_index > 0 ? "restart" : "run", *missing);
    } else if (const auto nowhere = LoadedFromNowhere(attempt_index)) {
      outcome.verdict = Verdict::kCannotJudge;
      outcome.why = *nowhere;
    } else if (comparison.compared_count == 0 && reference_.LastStep() > first_step &&
               !WasHitByFault(attempt)) {
      outcome = Say(Verdict::kCannotJudge,
                    "the restart recorded nothing that the reference recorded too");
    }
  }

  // What the reference recorded and `attempt` did not, though it should have.
  [[nodiscard]] std::optional<std::string> MissingIn(const AttemptEvidence& attempt,
                                                     const CompareSpec& spec,
                                                     const LayerComparison& comparison) const {
    CompletenessSpec wanted;
    wanted.reference = input_.reference;
    wanted.run = &attempt;
    wanted.first_step = spec.first_step;
    wanted.trajectory = spec.trajectory;
    wanted.is_cut = spec.is_cut;
    wanted.is_async = input_.the_case->save_mode != "sync";
    if (auto missing = FirstMissing(wanted)) {
      return missing;
    }
    if (!comparison.uncompared.empty()) {
      return comparison.uncompared;
    }
    return std::nullopt;
  }

  // A checkpoint that the restart says it loaded and that was not in the folder.
  [[nodiscard]] std::optional<std::string> LoadedFromNowhere(std::size_t attempt_index) const {
    const RunView& view = *views_[attempt_index];
    if (!input_.format_known || attempt_index + 1 != views_.size() || view.Restored().empty() ||
        view.Restored().front().second->checkpoint.empty() || Loaded(attempt_index) != nullptr) {
      return std::nullopt;
    }
    return fmt::format(
        "the restart says that it loaded \"{}\", which is none of the {} "
        "checkpoints that the folder held",
        view.Restored().front().second->checkpoint, input_.stored.size());
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
