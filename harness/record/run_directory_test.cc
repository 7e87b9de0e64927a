#include "harness/record/run_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "harness/base/files.h"
#include "harness/record/attempt_store.h"
#include "harness/record/model_json.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

CaseReport SomeCase(const std::string& id) {
  CaseReport report;
  report.the_case.id = id;
  report.the_case.scenario = "s";
  report.the_case.target = "t";
  report.the_case.world = {2, 1};
  report.the_case.faults.push_back({"kill.operation", 1, {{"operation", "1/0/3"}}});
  report.outcome.verdict = Verdict::kDiverged;
  report.outcome.restored_step = 4;
  report.outcome.recovery_s = 0.25;
  report.outcome.cause = "rng.torch: not restored";
  report.outcome.consequences = {"loss"};
  report.outcome.divergence = Divergence{Layer::kD3, 4, 1, "rng/worker-1", "a", "b", "why\xff"};
  report.expect = Expectation{{Verdict::kDiverged}, "x", Layer::kD3, 4, "n"};
  report.fired = {"killed"};
  report.confirmation = "the same";
  return report;
}

class RunDirectoryTest : public ::testing::Test {
 protected:
  RunDirectoryTest()
      : path_(fs::temp_directory_path() / ("reprise_run_" + std::to_string(getpid()))) {
    fs::remove_all(path_);
  }
  ~RunDirectoryTest() override { fs::remove_all(path_); }

  [[nodiscard]] RunHeader Header() const { return {"1", "abc", 7, {"/s.json"}, {"id"}}; }

  fs::path path_;
};

TEST_F(RunDirectoryTest, ReadsBackWhatWasAppended) {
  {
    auto directory = RunDirectory::Create(path_, Header());
    ASSERT_TRUE(directory) << directory.error().ToString();
    TargetReport target;
    target.target.id = "t";
    target.target.command = {"a", "b"};
    ASSERT_TRUE(directory->AppendTarget(target));
    ASSERT_TRUE(directory->AppendPlan({"one", "two"}));
    ASSERT_TRUE(directory->AppendCase(SomeCase("two")));
    ASSERT_TRUE(directory->AppendCase(SomeCase("one")));
    ASSERT_TRUE(directory->AppendFinished(1.5, "cut"));
  }
  const auto record = RunDirectory::Read(path_);
  ASSERT_TRUE(record) << record.error().ToString();
  EXPECT_EQ(record->header.seed, 7U);
  EXPECT_EQ(record->targets.at(0).target.command.size(), 2U);
  ASSERT_EQ(record->cases.size(), 2U);
  EXPECT_EQ(record->cases[0].the_case.id, "one");  // in the order of the plan
  EXPECT_TRUE(record->finished);
  EXPECT_EQ(record->cut, "cut");
}

TEST_F(RunDirectoryTest, ACaseSurvivesTheRoundTripFieldByField) {
  const auto json = EncodeCase(SomeCase("one"));
  const auto parsed = ParseJson(DumpJson(json), "test");
  ASSERT_TRUE(parsed);
  const auto decoded = DecodeCase(*parsed, "test");
  ASSERT_TRUE(decoded) << decoded.error().ToString();
  EXPECT_EQ(DumpJson(EncodeCase(*decoded)), DumpJson(json));
}

TEST_F(RunDirectoryTest, ATornLastEventIsNoEventAndIsRemovedByContinue) {
  {
    auto directory = RunDirectory::Create(path_, Header());
    ASSERT_TRUE(directory->AppendPlan({"one"}));
  }
  const std::string whole = *ReadFile(path_ / "events.jsonl", 1 << 20);
  ASSERT_TRUE(AppendToFile(path_ / "events.jsonl", R"({"event":"case","id":"on)"));
  ASSERT_TRUE(RunDirectory::Read(path_));
  EXPECT_TRUE(RunDirectory::Read(path_)->cases.empty());
  {
    auto directory = RunDirectory::Continue(path_);
    ASSERT_TRUE(directory);
    EXPECT_EQ(*ReadFile(path_ / "events.jsonl", 1 << 20), whole);
  }
}

TEST_F(RunDirectoryTest, ABadEventInTheMiddleNamesFileAndLine) {
  { ASSERT_TRUE(RunDirectory::Create(path_, Header())); }
  ASSERT_TRUE(AppendToFile(path_ / "events.jsonl", "{\"event\":\"case\"}\n"));
  const auto record = RunDirectory::Read(path_);
  ASSERT_FALSE(record);
  EXPECT_THAT(record.error().ToString(), HasSubstr("events.jsonl:2"));
}

TEST_F(RunDirectoryTest, AnEarlierRunIsReplacedButAFolderOfTheUserIsRefused) {
  { ASSERT_TRUE(RunDirectory::Create(path_, Header())->AppendPlan({"one"})); }
  ASSERT_TRUE(MakeFolders(path_ / "cases/one"));
  { ASSERT_TRUE(RunDirectory::Create(path_, Header())); }
  EXPECT_FALSE(fs::exists(path_ / "cases"));
  ASSERT_TRUE(WriteFileAtomically(path_ / "junit.xml.tmp", "torn"));
  { EXPECT_TRUE(RunDirectory::Create(path_, Header())); }
  EXPECT_FALSE(fs::exists(path_ / "junit.xml.tmp"));
  ASSERT_TRUE(MakeFolders(path_ / "inner-run"));
  EXPECT_EQ(RunDirectory::Create(path_, Header()).error().code, ErrorCode::kUsage);
  EXPECT_TRUE(fs::exists(path_ / "inner-run"));
  fs::remove_all(path_ / "inner-run");
  EXPECT_TRUE(RunDirectory::Read(path_)->planned.empty());
  fs::remove_all(path_);
  ASSERT_TRUE(MakeFolders(path_));
  ASSERT_TRUE(WriteFileAtomically(path_ / "events.jsonl", "{\"mine\":1}\n"));
  EXPECT_EQ(RunDirectory::Create(path_, Header()).error().code, ErrorCode::kUsage);
  EXPECT_EQ(*ReadFile(path_ / "events.jsonl", 100), "{\"mine\":1}\n");
}

TEST_F(RunDirectoryTest, OneCampaignAtATimeHoldsIt) {
  const auto first = RunDirectory::Create(path_, Header());
  ASSERT_TRUE(first);
  EXPECT_THAT(RunDirectory::Create(path_, Header()).error().message, HasSubstr("another reprise"));
  EXPECT_THAT(RunDirectory::Continue(path_).error().message, HasSubstr("another reprise"));
}

TEST_F(RunDirectoryTest, AnAttemptIsReadBackWithoutTheDataOfWrites) {
  AttemptResult result;
  result.end = AttemptEnd::kFault;
  result.ranks.push_back({RankEnd::kKilledByFault, 9, std::chrono::microseconds(5), 1024});
  Operation operation;
  operation.kind = OperationKind::kRename;
  operation.address = {1, 2, 3};
  operation.path = "a";
  operation.second_path = "b";
  operation.result = -2;
  operation.exchanges = true;
  operation.data = "xyz";
  result.events = {RecordEvent{0, "{}"}, OutputEvent{1, 2, "hello"}, OperationEvent{operation},
                   FaultEvent{"kill", "all"}};
  ASSERT_TRUE(PrepareAttemptFolder(path_));
  ASSERT_TRUE(StoreAttempt(path_, result));
  const auto loaded = LoadAttempt(path_);
  ASSERT_TRUE(loaded) << loaded.error().ToString();
  EXPECT_EQ(loaded->ranks.at(0).end, RankEnd::kKilledByFault);
  ASSERT_EQ(loaded->events.size(), 4U);
  const Operation& back = std::get<OperationEvent>(loaded->events[2]).operation;
  EXPECT_EQ(back.second_path, "b");
  EXPECT_EQ(back.result, -2);
  EXPECT_TRUE(back.exchanges);
  EXPECT_TRUE(back.data.empty());
}

TEST_F(RunDirectoryTest, ATornAttemptIsSaid) {
  AttemptResult result;
  result.events = {RecordEvent{0, "{}"}, RecordEvent{0, "{}"}};
  ASSERT_TRUE(PrepareAttemptFolder(path_));
  ASSERT_TRUE(StoreAttempt(path_, result));
  const std::string text = *ReadFile(path_ / "attempt.jsonl", 1 << 20);
  ASSERT_TRUE(WriteFileAtomically(path_ / "attempt.jsonl", text.substr(0, text.size() - 5)));
  EXPECT_THAT(LoadAttempt(path_).error().message, HasSubstr("expected 2 events, found 1"));
}

}  // namespace
}  // namespace reprise
