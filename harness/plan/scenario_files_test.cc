// The scenario files that we ship: they load, and the smoke scenario covers what it promises.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "harness/plan/plan.h"
#include "injectors/injector.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

const fs::path kScenarios = REPRISE_SCENARIOS;

// A run of five saves: folder, shard, sync, rename.
ReferenceSummary RunOf(int world) {
  ReferenceSummary run;
  run.world = world;
  run.steps = 14;
  run.record_count.assign(static_cast<std::size_t>(world), 60);
  for (int rank = 0; rank < world; ++rank) {
    for (int save = 0; save < 5; ++save) {
      int n = 0;
      for (const OperationKind kind : {OperationKind::kMakeFolder, OperationKind::kWrite,
                                       OperationKind::kSync, OperationKind::kRename}) {
        Operation operation;
        operation.address = {rank, save, n++};
        operation.kind = kind;
        operation.length_bytes = kind == OperationKind::kWrite ? 4096 : 0;
        run.operations.push_back(operation);
      }
    }
  }
  return run;
}

std::map<ReferenceKey, ReferenceSummary> ReferencesOf(const Scenario& scenario) {
  std::map<ReferenceKey, ReferenceSummary> references;
  for (const ReferenceKey& key : NeededReferences(scenario)) {
    references[key] = RunOf(key.second);
  }
  return references;
}

std::vector<PlannedCase> PlanOf(const std::string& file) {
  const auto scenario = LoadScenario(kScenarios / file);
  EXPECT_TRUE(scenario) << scenario.error().ToString();
  const auto plan = MakePlan(*scenario, 1, ReferencesOf(*scenario));
  EXPECT_TRUE(plan) << plan.error().ToString();
  return *plan;
}

TEST(ScenarioFilesTest, AllOfThemLoad) {
  int count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(kScenarios)) {
    if (entry.path().extension() == ".json" && entry.path().filename() != "schema.json") {
      const auto scenario = LoadScenario(entry.path());
      EXPECT_TRUE(scenario) << scenario.error().ToString();
      ++count;
    }
  }
  EXPECT_GE(count, 12);
}

TEST(ScenarioFilesTest, SmokeCoversEveryInjectorAndEveryPairOfWorldSizes) {
  const auto plan = PlanOf("smoke/transformer.json");
  std::set<std::string> kinds;
  std::set<std::vector<int>> pairs;
  std::set<std::string> ids;
  int in_saves = 0;
  for (const PlannedCase& planned : plan) {
    ids.insert(planned.the_case.id);
    if (planned.the_case.world.size() == 2) {
      pairs.insert(planned.the_case.world);
    }
    bool in_save = false;
    for (const Fault& fault : planned.the_case.faults) {
      kinds.insert(fault.kind);
      in_save |= fault.kind == "kill.operation";
    }
    in_saves += in_save ? 1 : 0;
  }
  EXPECT_GE(plan.size(), 80U);
  EXPECT_LE(plan.size(), 110U);
  EXPECT_EQ(ids.size(), plan.size());
  EXPECT_EQ(kinds.size(), AllInjectors().size());
  EXPECT_EQ(pairs.size(), 16U);
  EXPECT_GE(in_saves, 30);
}

TEST(ScenarioFilesTest, TheCanaryExpectsNothing) {
  for (const PlannedCase& planned : PlanOf("canary.json")) {
    EXPECT_FALSE(planned.expect) << "an expected finding would let the canary pass";
  }
}

}  // namespace
}  // namespace reprise
