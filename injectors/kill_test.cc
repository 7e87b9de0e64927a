#include <gtest/gtest.h>

#include "injectors/injector.h"

namespace reprise {
namespace {

using Params = std::map<std::string, std::string>;

std::unique_ptr<Injector> Make(const std::string& kind, Params params) {
  auto injector = MakeInjector({.kind = kind, .params = std::move(params)});
  EXPECT_TRUE(injector) << (injector ? "" : injector.error().ToString());
  return injector ? *std::move(injector) : nullptr;
}

Operation Write(OperationAddress address, std::int64_t length_bytes) {
  Operation operation;
  operation.kind = OperationKind::kWrite;
  operation.address = address;
  operation.call = "pwrite64";
  operation.path = "some/file";
  operation.length_bytes = length_bytes;
  return operation;
}

StepRecord Done(std::int64_t step) {
  StepRecord record;
  record.step = step;
  return record;
}

MicroBatchRecord Micro(std::int64_t step, std::int64_t micro) {
  MicroBatchRecord record;
  record.step = step;
  record.micro = micro;
  return record;
}

bool IsKill(const Action& action) { return action.kind != Action::Kind::kContinue; }

// The records of two optimizer steps of two micro-batches each, as one rank writes them.
std::vector<LogRecord> TwoSteps() {
  std::vector<LogRecord> records = {StartRecord{}, ReadyRecord{.step = 0}};
  for (std::int64_t step = 1; step <= 2; ++step) {
    for (std::int64_t micro = 0; micro < 2; ++micro) {
      records.emplace_back(Micro(step, micro));
    }
    records.emplace_back(OptimizerRecord{.step = step});
    records.emplace_back(Done(step));
  }
  return records;
}

// Index of the record after which rank 0 is killed; -1: never.
int KilledAfter(Injector& injector, int rank = 0) {
  const auto records = TwoSteps();
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (IsKill(injector.OnRecord(rank, records[i]))) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

int KilledAfterStep(const std::string& step, const std::string& when) {
  return KilledAfter(*Make("kill.step", {{"step", step}, {"when", when}}));
}

TEST(KillAtStepTest, StopsAtTheRecordThatTheMomentNames) {
  EXPECT_EQ(KilledAfterStep("0", "after"), 1);
  EXPECT_EQ(KilledAfterStep("1", "micro:0"), 2);
  EXPECT_EQ(KilledAfterStep("1", "micro:1"), 3);
  EXPECT_EQ(KilledAfterStep("1", "before-optimizer"), 4);
  EXPECT_EQ(KilledAfterStep("1", "after"), 5);
  EXPECT_EQ(KilledAfterStep("2", "after"), 9);
}

TEST(KillAtStepTest, IsNotFiredWhenTheRunEndsBeforeTheMoment) {
  const auto injector = Make("kill.step", {{"step", "3"}});
  EXPECT_EQ(KilledAfter(*injector), -1);
  EXPECT_TRUE(injector->Firings().empty());
  EXPECT_EQ(KilledAfterStep("2", "micro:2"), -1);
}

TEST(KillAtStepTest, WatchesOneRankAndKillsTheVictimOnce) {
  const auto injector = Make("kill.step", {{"step", "1"}, {"watch", "1"}, {"victim", "rank:2"}});
  EXPECT_EQ(KilledAfter(*injector, 0), -1);
  const Action action = injector->OnRecord(1, Done(1));
  EXPECT_EQ(action.kind, Action::Kind::kKillOneRank);
  EXPECT_EQ(action.rank, 2);
  EXPECT_FALSE(IsKill(injector->OnRecord(1, Done(1))));
  EXPECT_EQ(injector->Firings(),
            std::vector<std::string>{"SIGKILL to rank 2 after step 1 of rank 1"});
}

TEST(KillAtStepTest, ThereIsNoUpdateZero) {
  const auto fault =
      ValidateFault({.kind = "kill.step", .params = {{"step", "0"}, {"when", "before-optimizer"}}});
  ASSERT_FALSE(fault);
  EXPECT_EQ(fault.error().where, "kill.step: step");
}

TEST(KillAtRecordTest, CountsTheRecordsOfItsRankAlone) {
  const auto injector = Make("kill.record", {{"rank", "1"}, {"record", "1"}});
  EXPECT_EQ(KilledAfter(*injector, 0), -1);
  EXPECT_EQ(KilledAfter(*injector, 1), 1);
  EXPECT_EQ(injector->Firings().size(), 1U);
  EXPECT_EQ(KilledAfter(*injector, 1), -1);
}

TEST(KillAtOperationTest, KillsAtItsAddressOnly) {
  const auto injector = Make("kill.operation", {{"operation", "1/0/2"}, {"cut", "after"}});
  EXPECT_FALSE(IsKill(injector->OnOperation(Write({0, 0, 2}, 10))));
  EXPECT_FALSE(IsKill(injector->OnOperation(Write({1, 1, 2}, 10))));
  EXPECT_TRUE(injector->Firings().empty());
  const Action action = injector->OnOperation(Write({1, 0, 2}, 10));
  EXPECT_EQ(action.kind, Action::Kind::kKillAllRanks);
  EXPECT_EQ(action.cut.kind, CutPoint::Kind::kAfter);
  EXPECT_EQ(injector->Firings().size(), 1U);
}

TEST(KillAtOperationTest, KillsTheRankThatMakesTheOperation) {
  const auto injector = Make("kill.operation", {{"operation", "1/0/2"}, {"victim", "rank"}});
  const Action action = injector->OnOperation(Write({1, 0, 2}, 10));
  EXPECT_EQ(action.kind, Action::Kind::kKillOneRank);
  EXPECT_EQ(action.rank, 1);
}

TEST(KillAtOperationTest, CutsOnlyInsideAWrite) {
  const auto injector = Make("kill.operation", {{"operation", "0/0/0"}, {"cut", "bytes:10"}});
  EXPECT_FALSE(IsKill(injector->OnOperation(Write({0, 0, 0}, 10))));
  Operation rename = Write({0, 0, 0}, 11);
  rename.kind = OperationKind::kRename;
  EXPECT_FALSE(IsKill(injector->OnOperation(rename)));
  EXPECT_TRUE(injector->Firings().empty());
  const Action action = injector->OnOperation(Write({0, 0, 0}, 11));
  EXPECT_TRUE(IsKill(action));
  EXPECT_EQ(action.cut.bytes, 10);
}

TEST(HoldAtOperationTest, HoldsOnceAndDecidesAtTheStandstill) {
  for (const std::string then : {"kill", "release"}) {
    const auto injector = Make("hold.operation", {{"operation", "1/0/2"}, {"then", then}});
    EXPECT_EQ(injector->OnOperation(Write({1, 0, 1}, 10)).kind, Action::Kind::kContinue);
    EXPECT_EQ(injector->OnOperation(Write({1, 0, 2}, 10)).kind, Action::Kind::kHoldRank);
    EXPECT_EQ(injector->OnOperation(Write({1, 0, 2}, 10)).kind, Action::Kind::kContinue);
    const Action action = injector->OnStandstill({Standstill::Reason::kStill, 1});
    EXPECT_EQ(action.kind, then == "kill" ? Action::Kind::kKillAllRanks : Action::Kind::kContinue);
    ASSERT_EQ(injector->Firings().size(), 2U);
    EXPECT_NE(injector->Firings()[1].find("1 operation of the others, which stand still"),
              std::string::npos);
  }
}

TEST(CutPointTest, RoundTripsAndRefusesOthers) {
  for (const char* text : {"before", "after", "bytes:0", "bytes:4096"}) {
    EXPECT_EQ(CutPoint::Parse(text)->ToText(), text);
  }
  for (const char* bad : {"", "bytes", "bytes:", "bytes:-1", "bytes:1x", "bytes:9999999999"}) {
    EXPECT_FALSE(CutPoint::Parse(bad)) << bad;
  }
}

}  // namespace
}  // namespace reprise
