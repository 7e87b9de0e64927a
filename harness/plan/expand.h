// From fault templates to faults: lists, "all" and {"random": N}.

#ifndef REPRISE_HARNESS_PLAN_EXPAND_H_
#define REPRISE_HARNESS_PLAN_EXPAND_H_

#include <cstdint>
#include <string>
#include <vector>

#include "harness/base/random.h"
#include "harness/plan/plan.h"
#include "injectors/injector.h"

namespace reprise {

inline constexpr std::size_t kMaxCaseCount = 100'000;  // of a scenario

// True where "all" and {"random": N} have a meaning for a parameter.
bool CanEnumerate(const ParamSpec& spec);

// What a template is expanded against.
struct ExpansionContext {
  const FaultTemplate* fault = nullptr;
  int world = 1;           // of the life in which the fault acts
  std::int64_t steps = 0;  // of the target
  // Run at `world`; null: only the values themselves are checked, and values that only a run can
  // tell are represented by one example.
  const ReferenceSummary* reference = nullptr;
  Random random{0};
  std::string where;  // of the fault, for error messages
};

// All combinations, validated; values in the order of the file, the last parameter varies fastest.
// kInvalidInput, with file and field: a value, rank, step, operation or record that cannot be.
Result<std::vector<Fault>> ExpandFault(const ExpansionContext& context);

}  // namespace reprise

#endif  // REPRISE_HARNESS_PLAN_EXPAND_H_
