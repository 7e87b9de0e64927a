// What must hold between the parts of a scenario, before anything runs.

#ifndef REPRISE_HARNESS_PLAN_SCENARIO_CHECK_H_
#define REPRISE_HARNESS_PLAN_SCENARIO_CHECK_H_

#include "harness/base/result.h"
#include "harness/plan/plan.h"

namespace reprise {

// kInvalidInput, with file and field: two targets of one id, a life without a restart, a rank that
// does not exist at a world size, a step beyond the end, parameters that do not go together, more
// than kMaxCaseCount cases.
Status CheckScenario(const Scenario& scenario);

// The error that says so.
tl::unexpected<Error> FailTooMany(const CaseTemplate& entry);

// REQUIRES: checked by LoadScenario.
const Target& TargetOf(const Scenario& scenario, const CaseTemplate& entry);

}  // namespace reprise

#endif  // REPRISE_HARNESS_PLAN_SCENARIO_CHECK_H_
