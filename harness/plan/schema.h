// The JSON Schema of scenario files, for editors: made of what the plug-ins say of themselves, so
// that it cannot fall behind them. The loader stays the judge; the schema knows no limit of size
// and nothing that holds only between fields.

#ifndef REPRISE_HARNESS_PLAN_SCHEMA_H_
#define REPRISE_HARNESS_PLAN_SCHEMA_H_

#include <string>

namespace reprise {

// The text of scenarios/schema.json (JSON Schema, draft 7), with a newline at its end.
std::string ScenarioSchema();

}  // namespace reprise

#endif  // REPRISE_HARNESS_PLAN_SCHEMA_H_
