// End to end with the libtorch transformer: the smoke scenarios, the planted faults, the canary.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "tests/binary.h"

namespace reprise::testing {
namespace {

using nlohmann::json;
using ::testing::AnyOf;
using ::testing::Contains;

TEST(SmokeTest, IsWideAndFindsNothing) {
  const Folder folder;
  const Finished run = Reprise({"run", Source("scenarios/smoke").string()}, folder.Path());
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  const json report = ReadReport(folder.Path() / "reprise-out");
  EXPECT_GE(report["cases"].size(), 80U);
  std::set<std::pair<int, int>> pairs;
  std::map<std::string, int> kinds;
  for (const json& entry : report["cases"]) {
    EXPECT_THAT(entry["verdict"].get<std::string>(), AnyOf("exact", "exact-fallback", "refused"))
        << entry.dump(2);
    ++kinds[entry["fault"]["kind"].get<std::string>()];
    if (entry["world"].size() == 2) {
      pairs.emplace(entry["world"][0], entry["world"][1]);
    }
  }
  for (int from = 1; from <= 4; ++from) {
    for (int to = 1; to <= 4; ++to) {
      EXPECT_THAT(pairs, Contains(std::pair(from, to)));
    }
  }
  EXPECT_GE(kinds["kill.operation"], 30);
  for (const char* kind : {"kill.step", "kill.record", "damage.drop", "damage.flip",
                           "damage.truncate", "damage.stale"}) {
    EXPECT_GE(kinds[kind], 1) << kind;
  }
}

TEST(NegativeTest, EveryPlantedFaultIsFoundAndNamed) {
  const Folder folder;
  const Finished run = Reprise({"run", Source("scenarios/negative").string()}, folder.Path());
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  const json report = ReadReport(folder.Path() / "reprise-out");
  std::set<std::string> causes;
  for (const json& finding : report["findings"]) {
    causes.insert(finding["cause"].get<std::string>());
  }
  causes.erase("");
  EXPECT_GE(causes.size(), 8U) << report["findings"].dump(2);
}

TEST(CanaryTest, MustFail) {
  const Folder folder;
  const Finished run = Reprise({"run", Source("scenarios/canary.json").string()}, folder.Path());
  EXPECT_EQ(run.status, 1) << run.out << run.err;
}

// Byte for byte, at every operation of a save: a folder that differs from what the operation log
// predicts is a harness-error.
TEST(RecorderTest, AKillAtAnyOperationLeavesThePredictedFolder) {
  const Folder folder;
  folder.Write("s.json", R"({"schema": "reprise.scenario/1", "name": "every-operation", "targets": [
      {"id": "transformer", "command": ["{models}/transformer", "--ckpt", "{ckpt}", "--steps",
       "{steps}", "--seed", "{seed}", "--save-every", "2"], "format": "sharded-safetensors",
       "steps": 4, "fork_server": true, "world_invariant": true}],
      "cases": [{"world": [[1, 1], [2, 2]], "faults": [{"kind": "kill.operation",
       "operation": "all", "cut": ["before", "bytes:1000"]}]}]})");
  const Finished run = Reprise({"run", "s.json", "--quiet"}, folder.Path());
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  const json report = ReadReport(folder.Path() / "reprise-out");
  EXPECT_GE(report["cases"].size(), 60U);
  for (const json& entry : report["cases"]) {
    EXPECT_EQ(entry["verdict"], "exact") << entry.dump(2);
  }
}

// A part of what benchmarks/kill_storm does by hand.
TEST(KillStormTest, EveryFolderIsTheOneThatItsOwnLogPredicts) {
  const std::string build = std::filesystem::path(REPRISE_BINARY).parent_path().string();
  const std::string command =
      Source("benchmarks/kill_storm").string() + " --count 30 --seed 3 --build " + build;
  EXPECT_EQ(std::system(command.c_str()), 0);
}

}  // namespace
}  // namespace reprise::testing
