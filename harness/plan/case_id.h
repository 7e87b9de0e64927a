// Names of cases: readable, stable, usable as the name of a folder.

#ifndef REPRISE_HARNESS_PLAN_CASE_ID_H_
#define REPRISE_HARNESS_PLAN_CASE_ID_H_

#include <string>
#include <string_view>

#include "harness/model/case.h"

namespace reprise {

// Scenario names and target ids: letters, digits, '.' and '-', at most 64. No '_', which separates
// the parts of a case id.
bool IsPlainName(std::string_view name);

// "smoke_transformer_w1-2_kill.operation-0.1.7-cut.after": made of the content of the case alone,
// so that equal cases have equal ids and others do not. Letters, digits, '.', '-' and '_'; at most
// 200. Parameters at their defaults are left out. REQUIRES: the faults are validated
// (ValidateFault).
std::string CaseId(const Case& the_case);

}  // namespace reprise

#endif  // REPRISE_HARNESS_PLAN_CASE_ID_H_
