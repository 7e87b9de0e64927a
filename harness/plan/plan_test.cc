#include "harness/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <set>

#include "harness/base/files.h"
#include "harness/plan/case_id.h"

namespace reprise {
namespace {

using testing::HasSubstr;

// A run with saves of an open, `write_count` writes of 100 bytes and a rename per rank.
ReferenceSummary RunOf(int world, int saves, int write_count) {
  ReferenceSummary run{
      .world = world, .steps = 12, .operations = {}, .record_count = {}, .saved_steps = {}};
  for (int rank = 0; rank < world; ++rank) {
    run.record_count.push_back(20 + rank);
    for (int save = 0; save < saves; ++save) {
      for (int n = 0; n < write_count + 2; ++n) {
        Operation operation;
        operation.address = {rank, save, n};
        operation.kind = n == 0                 ? OperationKind::kOpen
                         : n == write_count + 1 ? OperationKind::kRename
                                                : OperationKind::kWrite;
        operation.length_bytes = operation.kind == OperationKind::kWrite ? 100 : 0;
        run.operations.push_back(operation);
      }
    }
  }
  return run;
}

class PlanTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "plan-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    for (int world = 1; world <= 4; ++world) {
      references_[{"t", world}] = RunOf(world, 3, 4);
    }
  }
  void TearDown() override { EXPECT_TRUE(RemoveTree(folder_)); }

  [[nodiscard]] Scenario Load(const std::string& cases) const {
    const auto path = folder_ / "s.json";
    EXPECT_TRUE(WriteFileAtomically(
        path, R"({"schema": "reprise.scenario/1", "name": "s", "targets": [{"id": "t",
                  "command": ["x"], "format": "sharded-safetensors", "steps": 12,
                  "world_invariant": true}], "cases": [)" +
                  cases + "]}"));
    auto scenario = LoadScenario(path);
    EXPECT_TRUE(scenario) << scenario.error().ToString();
    return *std::move(scenario);
  }
  [[nodiscard]] Result<std::vector<PlannedCase>> Plan(const std::string& cases,
                                                      std::uint64_t seed = 1) const {
    return MakePlan(Load(cases), seed, references_);
  }
  [[nodiscard]] std::vector<std::string> Ids(const std::string& cases,
                                             std::uint64_t seed = 1) const {
    std::vector<std::string> ids;
    const auto plan = Plan(cases, seed);
    EXPECT_TRUE(plan) << plan.error().ToString();
    for (const PlannedCase& planned : *plan) {
      ids.push_back(planned.the_case.id);
    }
    return ids;
  }
  // A case of world [2, 1] with one fault.
  static std::string One(const std::string& fault) {
    return R"({"world": [[2, 1]], "faults": [)" + fault + "]}";
  }
  void ExpectRefused(const std::string& entry, const std::string& field,
                     const std::string& message) const {
    const auto plan = Plan(entry);
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().code, ErrorCode::kInvalidInput);
    EXPECT_EQ(plan.error().where, (folder_ / "s.json").string() + ": cases[0]." + field);
    EXPECT_THAT(plan.error().message, HasSubstr(message));
  }

  std::filesystem::path folder_;
  std::map<ReferenceKey, ReferenceSummary> references_;
};

TEST_F(PlanTest, IdsAreMadeOfWhatDiffersFromTheDefaults) {
  EXPECT_EQ(Ids(R"({"world": [[2, 1]], "faults": [
                  {"kind": "kill.operation", "operation": "0/1/2", "cut": ["before", "bytes:7"]},
                  {"kind": "damage.drop", "region": "state"}]},
                {"world": [[1, 2, 1]], "faults": [
                  {"kind": "kill.step", "step": 3},
                  {"kind": "kill.step", "step": 5, "when": "micro:0", "attempt": 1}]},
                {"world": [[1], [2]], "faults": []})"),
            (std::vector<std::string>{
                "s_t_w2-1_kill.operation-0.1.2_damage.drop-region.state",
                "s_t_w2-1_kill.operation-0.1.2-cut.bytes.7_damage.drop-region.state",
                "s_t_w1-2-1_kill.step-3_kill.step-5-when.micro.0-attempt.1",
                "s_t_w1_uninterrupted-as.1", "s_t_w2_uninterrupted-as.1"}));
}

TEST_F(PlanTest, AFinishedRunIsStartedAgainOncePerTargetUnlessItsFindingsAreExpected) {
  const std::string entries =
      One(R"({"kind": "kill.step", "step": 3})") + "," + R"({"world": [[1]], "faults": []})";
  const auto cases = FinishedAgainCases(Load(entries));
  ASSERT_EQ(cases.size(), 1U);
  EXPECT_EQ(cases[0].the_case.id, "s_t_w2-2_finished-again");
  EXPECT_EQ(cases[0].the_case.reference_world, 2);
  EXPECT_EQ(Ids(R"({"world": [[2, 2]], "faults": []})"),
            std::vector<std::string>{"s_t_w2-2_finished-again"});
  const std::string planted = R"(, {"world": [[1, 1]], "faults": [{"kind": "kill.step",
      "step": 3}], "expect": {"verdict": "diverged"}})";
  EXPECT_TRUE(FinishedAgainCases(Load(entries + planted)).empty());
}

TEST_F(PlanTest, IdsDifferWhereTensorNamesDifferOnlyInWhatAFolderNameCannotHold) {
  const auto ids = Ids(One(R"({"kind": "damage.flip", "tensor": ["w/a.b", "w/a/b"]})"));
  EXPECT_NE(ids.at(0), ids.at(1));
  EXPECT_THAT(ids[0], HasSubstr("-tensor.w.a.b.h"));
  for (const std::string& id :
       Ids(One(R"({"kind": "damage.flip", "tensor": ")" + std::string(500, 'x') + "\"}"))) {
    EXPECT_EQ(id.size(), 200U);
  }
}

TEST_F(PlanTest, AllOperationsOfEveryRankAreCovered) {
  const auto ids = Ids(One(R"({"kind": "kill.operation", "operation": "all"})"));
  EXPECT_EQ(ids.size(), references_.at({"t", 2}).operations.size());
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), ids.size());
}

TEST_F(PlanTest, ACutInsideIsPlannedForLongerWritesOnly) {
  const auto count = [this](const std::string& cut) {
    return Ids(One(R"({"kind": "kill.operation", "operation": "all", "cut": ")" + cut + "\"}"))
        .size();
  };
  EXPECT_EQ(count("bytes:99"), 2U * 3U * 4U);
  ExpectRefused(One(R"({"kind": "kill.operation", "operation": "all", "cut": "bytes:100"})"),
                "faults[0].operation", "no file operation at which this fault can act");
}

TEST_F(PlanTest, AllStepsAndAllRecordsOfTheRank) {
  EXPECT_EQ(Ids(One(R"({"kind": "kill.step", "step": "all"})")).size(), 12U);
  EXPECT_EQ(Ids(One(R"({"kind": "kill.record", "rank": 1, "record": "all"})")).size(), 21U);
  EXPECT_EQ(Ids(One(R"({"kind": "kill.record", "rank": "all", "record": "all"})")).size(), 41U);
}

TEST_F(PlanTest, RandomOperationsSpreadOverSavesRanksAndKinds) {
  const auto plan = Plan(One(R"({"kind": "kill.operation", "operation": {"random": 12}})"));
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->size(), 12U);
  std::map<int, int> by_save;
  std::map<int, int> by_rank;
  int renames = 0;
  for (const PlannedCase& planned : *plan) {
    const auto address =
        OperationAddress::Parse(planned.the_case.faults.at(0).params.at("operation"));
    ++by_save[address->save];
    ++by_rank[address->rank];
    renames += address->n == 5 ? 1 : 0;
  }
  // Three properties at once allow no more than one away from an even share.
  for (int save = 0; save < 3; ++save) {
    EXPECT_NEAR(by_save[save], 4, 1);
  }
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_NEAR(by_rank[rank], 6, 1);
  }
  EXPECT_GE(renames, 3);  // of six; a plain draw would take two of every twelve
}

TEST_F(PlanTest, RandomStepsLieInEqualBins) {
  const auto plan = Plan(One(R"({"kind": "kill.step", "step": {"random": 4}})"));
  ASSERT_EQ(plan->size(), 4U);
  for (int bin = 0; bin < 4; ++bin) {
    const int step =
        std::stoi((*plan)[static_cast<std::size_t>(bin)].the_case.faults[0].params.at("step"));
    EXPECT_EQ((step - 1) / 3, bin);
  }
}

TEST_F(PlanTest, MoreDrawsThanValuesAreAllValues) {
  EXPECT_EQ(Ids(One(R"({"kind": "kill.step", "step": {"random": 50}})")).size(), 12U);
  EXPECT_EQ(Ids(One(R"({"kind": "kill.operation", "operation": {"random": 99}})")).size(), 36U);
}

TEST_F(PlanTest, SeedDecidesTheDrawsAndNothingElseDoes) {
  const std::string random = One(R"({"kind": "kill.operation", "operation": {"random": 6}})");
  EXPECT_EQ(Ids(random, 1), Ids(random, 1));
  EXPECT_NE(Ids(random, 1), Ids(random, 2));
  const auto alone = Ids(random, 1);
  const auto with_other =
      Ids(One(R"({"kind": "kill.record", "rank": 0, "record": {"random": 3}})") + "," + random, 1);
  EXPECT_EQ(std::vector<std::string>(with_other.begin() + 3, with_other.end()), alone);
}

TEST_F(PlanTest, PairsDrawOnTheirOwn) {
  const auto ids = Ids(R"({"world": [[2, 1], [2, 3]], "faults": [
                           {"kind": "kill.operation", "operation": {"random": 6}}]})");
  std::set<std::string> operations;
  for (const std::string& id : ids) {
    operations.insert(id.substr(id.rfind('-')));
  }
  EXPECT_GT(operations.size(), 6U);
}

TEST_F(PlanTest, AnOperationOrRecordThatDoesNotExistIsRefused) {
  ExpectRefused(One(R"({"kind": "kill.operation", "operation": "0/9/1"})"), "faults[0].operation",
                "world size 2 has no operation 0/9/1; rank 0 made 3 saves");
  ExpectRefused(One(R"({"kind": "kill.operation", "operation": "1/0/6"})"), "faults[0].operation",
                "rank 1 made 6 operations in save 0");
  ExpectRefused(One(R"({"kind": "kill.operation", "operation": "0/0/0", "cut": "bytes:1"})"),
                "faults[0].operation", "it is a open of 0 bytes");
  ExpectRefused(One(R"({"kind": "kill.record", "rank": 0, "record": 20})"), "faults[0].record",
                "wrote 20; expected 0 to 19");
}

TEST_F(PlanTest, EqualCasesAreMergedAndContradictionsRefused) {
  const std::string entry = One(R"({"kind": "kill.step", "step": [3, 3, 4]})");
  EXPECT_EQ(Ids(entry + "," + entry).size(), 2U);
  const auto plan = Plan(entry + R"(,{"world": [[2, 1]], "expect": {"verdict": "exact"},
                                     "faults": [{"kind": "kill.step", "step": 4}]})");
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().where, HasSubstr("cases[1].expect"));
}

TEST_F(PlanTest, TooManyCasesAreRefused) {
  references_[{"t", 2}] = RunOf(2, 40, 200);
  const std::string draws = [] {
    std::string list = "0";
    for (int i = 1; i < 1000; ++i) {
      list += "," + std::to_string(i);
    }
    return list;
  }();
  const auto plan = Plan(R"({"world": [[2, 1]], "faults": [
      {"kind": "kill.operation", "operation": "all"}, {"kind": "damage.flip", "draw": [)" +
                         draws + "]}]}");
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().message, HasSubstr("more than 100000 cases"));
}

TEST_F(PlanTest, NeedsOneReferencePerTargetAndFirstWorldSize) {
  const Scenario scenario = Load(R"({"world": [[2, 1], [1, 2], [2, 3]],
                                     "faults": [{"kind": "kill.step", "step": 1}]},
                                    {"world": [[3], [4]], "faults": []})");
  EXPECT_EQ(NeededReferences(scenario), (std::vector<ReferenceKey>{{"t", 2}, {"t", 1}, {"t", 3}}));
  const auto plan = MakePlan(scenario, 1, references_);
  EXPECT_EQ(plan->back().the_case.world, std::vector<int>{4});
  EXPECT_EQ(plan->back().the_case.reference_world, 3);
  EXPECT_EQ(plan->front().the_case.reference_world, 2);
}

TEST_F(PlanTest, ExpectationsTravelWithTheirCases) {
  const auto plan = Plan(R"({"world": [[1, 1]], "expect": {"verdict": "diverged", "layer": "D2"},
                             "faults": [{"kind": "kill.step", "step": 4}]})");
  EXPECT_EQ(plan->at(0).expect->layer, Layer::kD2);
}

}  // namespace
}  // namespace reprise
