// The schedule of the learning rate: lost, late, or wrong for one step.

#include <fmt/format.h>

#include <cstdlib>

#include "harness/judge/causes/cause_rule.h"

namespace reprise {
namespace {

constexpr const char* kNotRestored = "scheduler: not restored";
constexpr const char* kShifted = "scheduler: shifted";
constexpr const char* kOneStep = "scheduler: wrong for one step after load";

using Rates = std::map<std::int64_t, std::vector<FloatBits>>;

Rates RatesOf(const RunView& view) {
  Rates rates;
  for (const auto& [step, records] : view.Steps()) {
    rates.emplace(step, records.front().second->learning_rate);
  }
  return rates;
}

// Every rate of the restart is the reference's of `shift` steps before.
bool IsShifted(const Rates& run, const Rates& reference, std::int64_t shift) {
  int compared = 0;
  bool changes = false;
  for (const auto& [step, rate] : run) {
    const auto want = reference.find(step - shift);
    if (want == reference.end()) {
      continue;
    }
    if (want->second != rate) {
      return false;
    }
    ++compared;
    changes |= rate != run.begin()->second;
  }
  return compared > 1 && changes;
}

std::optional<CauseFinding> FindRates(const CauseContext& context) {
  const Rates run = RatesOf(*context.compare.run);
  const Rates reference = RatesOf(*context.compare.reference);
  const std::int64_t r = context.compare.first_step;
  if (r > 0 && IsShifted(run, reference, r)) {
    return CauseFinding{
        kNotRestored,
        fmt::format("the learning rates from step {} on are those of step 1 and on", r + 1)};
  }
  int wrong = 0;
  for (const auto& [step, rate] : run) {
    const auto want = reference.find(step);
    wrong += want != reference.end() && want->second != rate ? 1 : 0;
  }
  const auto at_first = run.find(r + 1);
  const auto want_first = reference.find(r + 1);
  if (wrong == 1 && run.size() > 2 && at_first != run.end() && want_first != reference.end() &&
      at_first->second != want_first->second) {
    return CauseFinding{kOneStep,
                        fmt::format("the learning rate is wrong at step {} and right from "
                                    "the next step on",
                                    r + 1)};
  }
  const auto limit = static_cast<std::int64_t>(reference.size());
  for (std::int64_t distance = 1; distance < limit; ++distance) {
    for (const std::int64_t shift : {distance, -distance}) {
      if (IsShifted(run, reference, shift)) {
        return CauseFinding{kShifted, fmt::format("the learning rates are those of {} steps {}",
                                                  distance, shift > 0 ? "before" : "later")};
      }
    }
  }
  return std::nullopt;
}

std::optional<CauseFinding> FindScalar(const CauseContext& context, const Difference& first) {
  const RunView& reference = *context.compare.reference;
  const auto initial = ScalarAt(reference, InitialStep(reference), first.where.name);
  if (first.where.actual != "absent" && (!initial || *initial != first.where.actual)) {
    return FindRates(context);
  }
  return CauseFinding{kNotRestored,
                      fmt::format("{} is {} before the first forward, as at the start of the run; "
                                  "expected {}",
                                  first.where.name, first.where.actual, first.where.expected)};
}

std::optional<CauseFinding> Find(CauseContext& context) {
  const Difference* first = context.First();
  if (first == nullptr || context.verdict != Verdict::kDiverged) {
    return std::nullopt;
  }
  if (first->subject == Subject::kScalar && StartsWith(first->component, "scheduler") &&
      first->where.step == context.compare.first_step) {
    return FindScalar(context, *first);
  }
  return first->subject == Subject::kLearningRate ? FindRates(context) : std::nullopt;
}

}  // namespace

CauseRule SchedulerRule() { return {{kNotRestored, kShifted, kOneStep}, "D4, D6", Find}; }

}  // namespace reprise
