#include "harness/plan/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "harness/base/check.h"
#include "harness/plan/case_id.h"
#include "harness/plan/expand.h"
#include "harness/plan/scenario_check.h"

namespace reprise {
namespace {

// World size of the reference run of one entry.
int ReferenceWorld(const CaseTemplate& entry, const std::vector<int>& world) {
  const bool is_uninterrupted = entry.faults.empty() && world.size() == 1;
  return is_uninterrupted ? entry.worlds.front().front() : world.front();
}

bool SameExpectation(const std::optional<Expectation>& a, const std::optional<Expectation>& b) {
  if (!a || !b) {
    return a.has_value() == b.has_value();
  }
  return a->verdicts == b->verdicts && a->cause == b->cause && a->layer == b->layer &&
         a->step == b->step && a->name == b->name;
}

bool ExpectsFinding(const CaseTemplate& entry) {
  return entry.expect &&
         std::any_of(entry.expect->verdicts.begin(), entry.expect->verdicts.end(), IsFinding);
}

Case MakeCase(const Scenario& scenario, const CaseTemplate& entry, const std::vector<int>& world,
              std::vector<Fault> faults) {
  Case the_case{.id = {},
                .scenario = scenario.name,
                .target = entry.target,
                .faults = std::move(faults),
                .world = world,
                .reference_world = ReferenceWorld(entry, world)};
  the_case.id = CaseId(the_case);
  return the_case;
}

// Cases in the order of the file, each once.
class Planner {
 public:
  Planner(const Scenario& scenario, std::uint64_t seed,
          const std::map<ReferenceKey, ReferenceSummary>& references)
      : scenario_(scenario), seed_(seed), references_(references) {}

  Status Add(const CaseTemplate& entry) {
    for (const std::vector<int>& world : entry.worlds) {
      REPRISE_RETURN_IF_ERROR(AddWorld(entry, world));
    }
    return {};
  }

  std::vector<PlannedCase> Take() { return std::move(cases_); }

 private:
  // All combinations of the faults' own expansions.
  Status AddWorld(const CaseTemplate& entry, const std::vector<int>& world) {
    std::vector<std::vector<Fault>> combinations = {{}};
    for (std::size_t i = 0; i < entry.faults.size(); ++i) {
      REPRISE_ASSIGN_OR_RETURN(const std::vector<Fault> faults, Expand(entry, i, world));
      if (combinations.size() * faults.size() > kMaxCaseCount) {
        return FailTooMany(entry);
      }
      std::vector<std::vector<Fault>> longer;
      for (const std::vector<Fault>& combination : combinations) {
        for (const Fault& fault : faults) {
          longer.push_back(combination);
          longer.back().push_back(fault);
        }
      }
      combinations = std::move(longer);
    }
    for (std::vector<Fault>& faults : combinations) {
      REPRISE_RETURN_IF_ERROR(AddCase(entry, world, std::move(faults)));
    }
    return {};
  }

  [[nodiscard]] Result<std::vector<Fault>> Expand(const CaseTemplate& entry, std::size_t i,
                                                  const std::vector<int>& world) const {
    const FaultTemplate& fault = entry.faults[i];
    const auto reference = references_.find({entry.target, world.front()});
    REPRISE_CHECK(reference != references_.end(),
                  fmt::format("{} at {}", entry.target, world.front()));
    const std::string purpose =
        fmt::format("{}/{}/{}", scenario_.name, entry.target, fmt::join(world, "-"));
    return ExpandFault({.fault = &fault,
                        .world = world[static_cast<std::size_t>(fault.attempt)],
                        .steps = TargetOf(scenario_, entry).steps,
                        .reference = &reference->second,
                        .random = Random(seed_).Split(purpose),
                        .where = fmt::format("{}.faults[{}]", entry.where, i)});
  }

  Status AddCase(const CaseTemplate& entry, const std::vector<int>& world,
                 std::vector<Fault> faults) {
    PlannedCase planned;
    planned.expect = entry.expect;
    planned.the_case = MakeCase(scenario_, entry, world, std::move(faults));
    const auto [known, is_new] = by_id_.emplace(planned.the_case.id, cases_.size());
    if (!is_new) {
      return SameExpectation(cases_[known->second].expect, entry.expect)
                 ? Status()
                 : Status(Fail(ErrorCode::kInvalidInput,
                               fmt::format("the case {} is already planned with another "
                                           "expectation",
                                           planned.the_case.id),
                               entry.where + ".expect"));
    }
    cases_.push_back(std::move(planned));
    return cases_.size() > kMaxCaseCount ? Status(FailTooMany(entry)) : Status();
  }

  const Scenario& scenario_;
  std::uint64_t seed_;
  const std::map<ReferenceKey, ReferenceSummary>& references_;
  std::map<std::string, std::size_t> by_id_;
  std::vector<PlannedCase> cases_;
};

}  // namespace

std::vector<ReferenceKey> NeededReferences(const Scenario& scenario) {
  std::vector<ReferenceKey> keys;
  for (const CaseTemplate& entry : scenario.cases) {
    for (const std::vector<int>& world : entry.worlds) {
      const ReferenceKey key = {entry.target, ReferenceWorld(entry, world)};
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
        keys.push_back(key);
      }
    }
  }
  return keys;
}

Result<std::vector<PlannedCase>> MakePlan(
    const Scenario& scenario, std::uint64_t seed,
    const std::map<ReferenceKey, ReferenceSummary>& references) {
  Planner planner(scenario, seed, references);
  for (const CaseTemplate& entry : scenario.cases) {
    REPRISE_RETURN_IF_ERROR(planner.Add(entry));
  }
  return planner.Take();
}

std::vector<PlannedCase> FinishedAgainCases(const Scenario& scenario) {
  std::vector<PlannedCase> cases;
  std::set<std::string> done;
  for (const CaseTemplate& entry : scenario.cases) {
    if (ExpectsFinding(entry)) {
      done.insert(entry.target);
    }
  }
  for (const CaseTemplate& entry : scenario.cases) {
    if (done.insert(entry.target).second) {
      const int world = ReferenceWorld(entry, entry.worlds.front());
      cases.push_back({.the_case = MakeCase(scenario, entry, {world, world}, {}), .expect = {}});
    }
  }
  return cases;
}

}  // namespace reprise
