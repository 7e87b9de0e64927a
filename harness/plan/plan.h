// Scenario files and the cases that follow from them. Pure: a plan is a function of (scenario,
// seed, reference runs), in one deterministic order; a budget only cuts it.

#ifndef REPRISE_HARNESS_PLAN_PLAN_H_
#define REPRISE_HARNESS_PLAN_PLAN_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/result.h"
#include "harness/model/case.h"
#include "harness/model/operation.h"
#include "harness/model/report.h"

namespace reprise {

// One entry of "cases" of a scenario file: a fault template that expands into one or more cases.
// Values may be lists (all combinations), "all" or {"random": N} (docs/scenarios.md).
struct FaultTemplate {
  std::string kind;
  int attempt = 0;                                         // Fault::attempt
  std::map<std::string, std::vector<std::string>> values;  // by parameter; empty vector: "all"
  std::map<std::string, int> random_counts;                // by parameter: draw so many values
};

struct CaseTemplate {
  std::string where;  // "smoke.json: cases[3]", for error messages
  std::string target;
  std::vector<FaultTemplate> faults;     // empty: uninterrupted runs, one world size per entry
  std::vector<std::vector<int>> worlds;  // e.g. {{1, 2}, {2, 1}}
  std::optional<Expectation> expect;
};

struct Scenario {
  std::filesystem::path path;
  std::string name;
  std::string description;
  std::vector<Target> targets;
  std::vector<CaseTemplate> cases;
};

// Strict: unknown fields, wrong types, impossible ranks, unknown plug-ins are errors that name the
// file, the field and what would be right.
Result<Scenario> LoadScenario(const std::filesystem::path& path);

// What the plan needs to know of one uninterrupted run.
struct ReferenceSummary {
  int world = 1;
  std::int64_t steps = 0;
  // Operations of each rank, in order: address, kind, length (data is not kept).
  std::vector<Operation> operations;
  // Logbook records of each rank: the kill points "record n of rank r".
  std::vector<int> record_count;  // by rank
  std::vector<std::int64_t> saved_steps;
};

using ReferenceKey = std::pair<std::string, int>;  // target id, world size

// Reference runs that the scenario's cases need.
std::vector<ReferenceKey> NeededReferences(const Scenario& scenario);

struct PlannedCase {
  Case the_case;
  std::optional<Expectation> expect;
};

// kInvalidInput where a template cannot be expanded (a rank or an operation that does not exist).
// REQUIRES: `references` holds all of NeededReferences().
Result<std::vector<PlannedCase>> MakePlan(
    const Scenario& scenario, std::uint64_t seed,
    const std::map<ReferenceKey, ReferenceSummary>& references);

// One case for each target with an entry, unless one of its entries expects a finding (a planted
// fault): the run ends, is started again, and must stay as it is. Needs no reference beyond
// NeededReferences().
std::vector<PlannedCase> FinishedAgainCases(const Scenario& scenario);

}  // namespace reprise

#endif  // REPRISE_HARNESS_PLAN_PLAN_H_
