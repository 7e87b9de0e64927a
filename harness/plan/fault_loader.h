// Reads one fault of a scenario file. Includes nlohmann's types: for .cc files only.

#ifndef REPRISE_HARNESS_PLAN_FAULT_LOADER_H_
#define REPRISE_HARNESS_PLAN_FAULT_LOADER_H_

#include <string>
#include <string_view>
#include <vector>

#include "harness/base/json_fields.h"
#include "harness/plan/plan.h"

namespace reprise {

// {"kind": …, "attempt": …, parameter: value | [values] | "all" | {"random": N}}. Each value is
// right by itself; combinations, ranks and steps are not looked at. kInvalidInput with file and
// field.
Result<FaultTemplate> ReadFaultTemplate(const Json& json, const std::string& where);

// "; did you mean "x"?", or "; known: …".
std::string DidYouMean(std::string_view word, const std::vector<std::string>& known);

}  // namespace reprise

#endif  // REPRISE_HARNESS_PLAN_FAULT_LOADER_H_
