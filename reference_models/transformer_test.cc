// Lives of the reference training, started as programs: world sizes, resumes, saves, planted
// faults.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/base/files.h"
#include "harness/record/logbook_reader.h"
#include "reference_models/lives.h"
#include "reference_models/mutants/mutant.h"

namespace reprise::models {
namespace {

namespace fs = std::filesystem;

using FactMap = std::map<std::string, std::string>;

constexpr int kSteps = 8;  // an epoch has five

class TransformerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / fmt::format("reprise-{}-{}", info->name(), getpid());
    ASSERT_TRUE(RemoveTree(folder_));
    ASSERT_TRUE(MakeFolders(folder_));
  }
  void TearDown() override { EXPECT_TRUE(RemoveTree(folder_)); }

  struct Life {
    int world = 1;
    int steps = kSteps;
    std::string checkpoint = {};  // folder below folder_
    std::vector<std::string> more = {};
    bool forked = false;
    std::string program = TRANSFORMER;
  };

  // Runs a life that must end well, and returns what it did.
  FactMap Run(const Life& life) {
    const std::vector<int> statuses = RunToStatus(life);
    EXPECT_EQ(statuses, std::vector<int>(static_cast<std::size_t>(life.world), 0)) << Errors();
    auto facts = FactsOf(logbook_);
    EXPECT_TRUE(facts) << facts.error().ToString();
    return facts ? *facts : FactMap();
  }

  std::vector<int> RunToStatus(const Life& life) {
    logbook_ = folder_ / fmt::format("logbook-{}", ++life_count_);
    LifeSpec spec;
    spec.program = life.program;
    spec.world = life.world;
    spec.logbook_folder = logbook_;
    spec.forked = life.forked;
    spec.arguments = {"--steps",   std::to_string(life.steps), "--save-every", "2",
                      "--horizon", std::to_string(kSteps),     "--eval-every", "3"};
    spec.arguments.insert(spec.arguments.end(), life.more.begin(), life.more.end());
    if (!life.checkpoint.empty()) {
      spec.arguments.push_back("--ckpt");
      spec.arguments.push_back((folder_ / life.checkpoint).string());
    }
    const auto statuses = RunLife(spec);
    EXPECT_TRUE(statuses) << statuses.error().ToString();
    return statuses ? *statuses : std::vector<int>();
  }

  // Standard error of rank 0 of the last life.
  std::string Errors() const {
    const auto text = ReadFile(logbook_ / "rank-0.err", 1 << 20);
    return text ? *text : "";
  }

  // The record of rank 0 of the last life that says what was restored.
  RestoredRecord RestoredOf() const {
    const auto logbook = ReadLogbook(logbook_ / "rank-0.jsonl");
    EXPECT_TRUE(logbook);
    for (const LogRecord& record : logbook ? logbook->records : std::vector<LogRecord>()) {
      if (const auto* restored = std::get_if<RestoredRecord>(&record)) return *restored;
    }
    ADD_FAILURE() << "no restored record";
    return {};
  }

  // Names and content of all files below `name`.
  FactMap Content(const std::string& name) const {
    FactMap content;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / name)) {
      if (entry.is_regular_file()) content[entry.path()] = ReadFile(entry.path(), 1 << 24).value();
    }
    return content;
  }

  fs::path folder_;
  fs::path logbook_;
  int life_count_ = 0;
};

// Facts of `life` that `reference` lacks or has otherwise, at most three.
std::vector<std::string> Differences(const FactMap& reference, const FactMap& life) {
  std::vector<std::string> names;
  for (const auto& [name, value] : life) {
    const auto found = reference.find(name);
    if ((found == reference.end() || found->second != value) && names.size() < 3) {
      names.push_back(name);
    }
  }
  return names;
}

const std::vector<std::string> kNone;

TEST_F(TransformerTest, TrajectoryIsBitEqualAtEveryWorldSize) {
  const FactMap alone = Run({.world = 1});
  ASSERT_GT(alone.size(), 1000U);
  for (int world = 2; world <= 4; ++world) {
    const FactMap together = Run({.world = world});
    EXPECT_EQ(Differences(alone, together), kNone) << world;
    EXPECT_EQ(together.size(), alone.size()) << world;
  }
}

TEST_F(TransformerTest, AnotherSeedIsAnotherTrajectory) {
  const FactMap one = Run({.steps = 2});
  EXPECT_NE(Differences(one, Run({.steps = 2, .more = {"--seed", "2"}})), kNone);
}

TEST_F(TransformerTest, ResumeEqualsUninterruptedAfterEveryChangeOfWorldSize) {
  const FactMap reference = Run({});
  // Stops after 2, 4 and 6 steps (the epoch ends at 5); every ordered pair of sizes occurs.
  constexpr std::array<std::array<int, 4>, 4> kChains = {
      {{1, 2, 3, 4}, {4, 3, 2, 1}, {3, 1, 4, 2}, {2, 4, 1, 3}}};
  for (const auto& chain : kChains) {
    for (std::size_t i = 0; i < chain.size(); ++i) {
      const int steps = 2 * static_cast<int>(i + 1);
      const std::string name = fmt::format("chain-{}", chain[0]);
      const FactMap life =
          Run({.world = chain[i], .steps = steps, .checkpoint = name, .forked = true});
      EXPECT_EQ(Differences(reference, life), kNone) << name << " at world size " << chain[i];
      EXPECT_EQ(RestoredOf().step, steps - 2);
    }
  }
}

TEST_F(TransformerTest, RunWithSavesEqualsRunWithout) {
  const FactMap saved = Run({.checkpoint = "saves"});
  const FactMap unsaved = Run({.checkpoint = "none", .more = {"--no-save"}});
  EXPECT_EQ(saved, unsaved);
  EXPECT_TRUE(fs::exists(folder_ / "saves" / "step-00000008"));
  EXPECT_FALSE(fs::exists(folder_ / "none" / "step-00000008"));
}

TEST_F(TransformerTest, CheckpointWinsOverTheCommandLine) {
  const FactMap reference = Run({});
  Run({.steps = 4, .checkpoint = "c"});
  const FactMap life =
      Run({.checkpoint = "c",
           .more = {"--seed", "7", "--lr", "0.5", "--weight-decay", "0.7", "--ema-decay", "0.5",
                    "--warmup", "9", "--epoch-samples", "16"}});
  EXPECT_EQ(Differences(reference, life), kNone);
}

TEST_F(TransformerTest, FinishedRunStartedAgainTrainsNothingAndLeavesTheFolder) {
  Run({.world = 2, .checkpoint = "c"});
  const FactMap before = Content("c");
  const FactMap again = Run({.world = 3, .checkpoint = "c"});
  EXPECT_EQ(Content("c"), before);
  EXPECT_EQ(RestoredOf().step, kSteps);
  EXPECT_FALSE(again.contains(fmt::format("step {} loss", kSteps + 1)));
}

TEST_F(TransformerTest, ForkedLifeHasTheBitsOfAColdStart) {
  const FactMap cold = Run({.world = 2, .steps = 4, .checkpoint = "cold"});
  EXPECT_EQ(Run({.world = 2, .steps = 4, .checkpoint = "forked", .forked = true}), cold);
  EXPECT_EQ(Run({.checkpoint = "cold"}), Run({.checkpoint = "forked", .forked = true}));
}

TEST_F(TransformerTest, DamagedNewestFallsBackAndSaysSo) {
  const FactMap reference = Run({});
  Run({.world = 2, .steps = 6, .checkpoint = "c"});
  fs::resize_file(folder_ / "c/step-00000006/shard-00002-of-00002.safetensors", 1000);
  const FactMap life = Run({.world = 3, .checkpoint = "c"});
  EXPECT_EQ(Differences(reference, life), kNone);
  EXPECT_EQ(RestoredOf().step, 4);
  ASSERT_EQ(RestoredOf().refused.size(), 1U);
  EXPECT_NE(RestoredOf().refused[0].find("shard-00002-of-00002"), std::string::npos);
  EXPECT_NE(Errors().find("checkpoint step-00000006 refused: "), std::string::npos) << Errors();
}

TEST_F(TransformerTest, NothingUsableIsAnErrorAndNeverAFreshStart) {
  Run({.steps = 4, .checkpoint = "c"});
  for (const char* step : {"step-00000002", "step-00000004"}) {
    fs::resize_file(folder_ / "c" / step / "index.json", 10);
  }
  EXPECT_EQ(RunToStatus({.world = 2, .checkpoint = "c"}), (std::vector<int>{1, 1}));
  EXPECT_NE(Errors().find("index.json"), std::string::npos) << Errors();
}

TEST_F(TransformerTest, WrongUseIsRefusedWithASentence) {
  EXPECT_EQ(RunToStatus({.world = 5}), std::vector<int>(5, 2));
  EXPECT_NE(Errors().find("world size 5 is larger than the 4 logical workers"), std::string::npos);
  EXPECT_EQ(RunToStatus({.more = {"--epoch-samples", "12"}}), std::vector<int>{2});
  EXPECT_NE(Errors().find("not a multiple of 8"), std::string::npos) << Errors();
  EXPECT_EQ(RunToStatus({.more = {"--device", "tpu"}}), std::vector<int>{2});
  EXPECT_EQ(RunToStatus({.more = {"--corpus", "/nonexistent"}}), std::vector<int>{1});
}

TEST_F(TransformerTest, EveryPlantedFaultOfTheStateChangesARecordedBit) {
  const FactMap reference = Run({});
  for (const MutantInfo& info : AllMutants()) {
    // These four change what a crash, a damage or a choice leads to; see the next test.
    const std::vector<std::string> others = {"overwrite-in-place", "published-early",
                                             "silent-fresh-start", "string-sort"};
    const bool is_other = std::find(others.begin(), others.end(), info.name) != others.end();
    const std::vector<std::string> more = {"--mutant", info.name};
    Run({.steps = 4, .checkpoint = info.name, .more = more, .program = TRANSFORMER_MUTANTS});
    const FactMap life =
        Run({.checkpoint = info.name, .more = more, .program = TRANSFORMER_MUTANTS});
    EXPECT_EQ(Differences(reference, life).empty(), is_other) << info.name;
  }
}

TEST_F(TransformerTest, PlantedFaultsOfTheSaveChangeWhatIsChosen) {
  const auto run = [this](const char* mutant, int steps) {
    return Run({.steps = steps,
                .checkpoint = mutant,
                .more = {"--mutant", mutant},
                .program = TRANSFORMER_MUTANTS});
  };
  run("string-sort", 10);
  run("string-sort", 10);
  EXPECT_EQ(RestoredOf().step, 8);

  run("silent-fresh-start", 4);
  fs::resize_file(folder_ / "silent-fresh-start/step-00000004/index.json", 10);
  run("silent-fresh-start", 6);
  EXPECT_EQ(RestoredOf().step, 0);

  run("overwrite-in-place", 4);
  EXPECT_TRUE(fs::exists(folder_ / "overwrite-in-place/current/index.json"));
  EXPECT_FALSE(fs::exists(folder_ / "overwrite-in-place/step-00000002"));
}

}  // namespace
}  // namespace reprise::models
