#include "harness/plan/scenario_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "harness/base/check.h"
#include "harness/plan/expand.h"
#include "injectors/injector.h"

namespace reprise {
namespace {

std::string WhereFault(const CaseTemplate& entry, std::size_t i) {
  return fmt::format("{}.faults[{}]", entry.where, i);
}

bool DrawsFromReference(const FaultTemplate& fault) {
  for (const ParamSpec& spec : FindInjector(fault.kind)->params) {
    const auto values = fault.values.find(spec.name);
    const bool open = fault.random_counts.contains(spec.name) ||
                      (values != fault.values.end() && values->second.empty());
    if (open && (spec.domain == ParamDomain::kOperation || spec.domain == ParamDomain::kRecord ||
                 spec.domain == ParamDomain::kStep)) {
      return true;
    }
  }
  return false;
}

// Lives, and which fault acts in which.
Status CheckLives(const CaseTemplate& entry, const Target& target, const std::vector<int>& world) {
  std::set<int> lives_with_kill;
  for (std::size_t i = 0; i < entry.faults.size(); ++i) {
    const FaultTemplate& fault = entry.faults[i];
    const std::string where = WhereFault(entry, i);
    if (fault.attempt + 1 >= static_cast<int>(world.size())) {
      return Fail(
          ErrorCode::kInvalidInput,
          fmt::format("the fault acts in attempt {} and needs a restart after it, but the "
                      "world sizes [{}] have {}; expected {} or more",
                      fault.attempt, fmt::join(world, ", "), world.size(), fault.attempt + 2),
          where);
    }
    if (fault.attempt > 0 && DrawsFromReference(fault)) {
      return Fail(ErrorCode::kInvalidInput,
                  "what a restart does is not known in advance: list the values instead of "
                  "\"all\" or {\"random\": N}",
                  where);
    }
    const bool live = FindInjector(fault.kind)->stage == InjectorStage::kLive;
    if (!live && target.format.empty()) {
      return Fail(ErrorCode::kInvalidInput,
                  fmt::format("a damage is aimed through the checkpoint format, and the target "
                              "\"{}\" names none; expected a \"format\" there (reprise list)",
                              target.id),
                  where);
    }
    if (live && !lives_with_kill.insert(fault.attempt).second) {
      return Fail(
          ErrorCode::kInvalidInput,
          fmt::format("a second kill in attempt {}; expected one kill an attempt (\"attempt\" "
                      "moves it to a later one)",
                      fault.attempt),
          where);
    }
  }
  return {};
}

Status CheckUninterrupted(const CaseTemplate& entry, const Target& target) {
  for (const std::vector<int>& world : entry.worlds) {
    if (world.size() > 2) {
      return Fail(
          ErrorCode::kInvalidInput,
          fmt::format("without faults, an entry is one uninterrupted run, or a finished one "
                      "that is started again: expected one or two world sizes, found [{}]",
                      fmt::join(world, ", ")),
          entry.where + ".world");
    }
    if (world.size() == 1 && world != entry.worlds.front() && !target.world_invariant) {
      return Fail(ErrorCode::kInvalidInput,
                  fmt::format("runs at different world sizes are compared only where the target "
                              "\"{}\" says \"world_invariant\": true",
                              target.id),
                  entry.where + ".world");
    }
  }
  return {};
}

// `case_count`: cases of the entries before, to which those of this one are added; what only a run
// can tell counts as one.
Status CheckCase(const Scenario& scenario, const CaseTemplate& entry, std::size_t* case_count) {
  const Target& target = TargetOf(scenario, entry);
  if (entry.faults.empty()) {
    return CheckUninterrupted(entry, target);
  }
  for (const std::vector<int>& world : entry.worlds) {
    REPRISE_RETURN_IF_ERROR(CheckLives(entry, target, world));
    std::size_t combinations = 1;
    for (std::size_t i = 0; i < entry.faults.size(); ++i) {
      const FaultTemplate& fault = entry.faults[i];
      const ExpansionContext context{.fault = &fault,
                                     .world = world[static_cast<std::size_t>(fault.attempt)],
                                     .steps = target.steps,
                                     .where = WhereFault(entry, i)};
      REPRISE_ASSIGN_OR_RETURN(const std::vector<Fault> faults, ExpandFault(context));
      combinations *= std::max<std::size_t>(faults.size(), 1);
      if (combinations + *case_count > kMaxCaseCount) {
        return FailTooMany(entry);
      }
    }
    *case_count += combinations;
  }
  return {};
}

}  // namespace

tl::unexpected<Error> FailTooMany(const CaseTemplate& entry) {
  return Fail(ErrorCode::kInvalidInput,
              fmt::format("the scenario has more than {} cases; use {{\"random\": N}} or fewer "
                          "values",
                          kMaxCaseCount),
              entry.where);
}

const Target& TargetOf(const Scenario& scenario, const CaseTemplate& entry) {
  const auto found = std::find_if(scenario.targets.begin(), scenario.targets.end(),
                                  [&](const Target& target) { return target.id == entry.target; });
  REPRISE_CHECK(found != scenario.targets.end(), entry.target);
  return *found;
}

Status CheckScenario(const Scenario& scenario) {
  std::set<std::string> ids;
  for (std::size_t i = 0; i < scenario.targets.size(); ++i) {
    if (!ids.insert(scenario.targets[i].id).second) {
      return Fail(ErrorCode::kInvalidInput,
                  fmt::format("a second target \"{}\"; ids must differ", scenario.targets[i].id),
                  fmt::format("{}: targets[{}].id", scenario.path.string(), i));
    }
  }
  std::size_t case_count = 0;
  for (const CaseTemplate& entry : scenario.cases) {
    REPRISE_RETURN_IF_ERROR(CheckCase(scenario, entry, &case_count));
  }
  return {};
}

}  // namespace reprise
