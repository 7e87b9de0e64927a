#include "harness/process/attempt_log.h"

#include <gtest/gtest.h>

#include <string>

#include "harness/process/hang_watch.h"

namespace reprise {
namespace {

TEST(LineSplitterTest, JoinsPiecesAndKeepsTheRest) {
  LineSplitter splitter(100);
  EXPECT_TRUE(splitter.Add("ab").empty());
  EXPECT_EQ(splitter.Add("c\n\nde\nf"), (std::vector<std::string>{"abc", "", "de"}));
  EXPECT_EQ(splitter.TakeRest(), "f");
  EXPECT_EQ(splitter.TakeRest(), "");
}

TEST(LineSplitterTest, LeavesOutALineBeyondTheBoundAndGoesOn) {
  LineSplitter splitter(3);
  EXPECT_TRUE(splitter.Add("abc").empty());
  EXPECT_EQ(splitter.Add("d\nok\n"), std::vector<std::string>{"ok"});
  EXPECT_EQ(splitter.TooLongCount(), 1);
  EXPECT_EQ(splitter.Add("abc\n"), std::vector<std::string>{"abc"});
  EXPECT_EQ(splitter.TooLongCount(), 1);
}

TEST(AttemptLogTest, ASaveBeginsWithTheFirstOperationAfterAStep) {
  AttemptLog log(2);
  const FileKey file{1, 2};
  EXPECT_EQ(log.NextAddress(0).ToText(), "0/0/0");
  EXPECT_EQ(log.NextAddress(0).ToText(), "0/0/1");
  log.AddLogbookBytes(0, file, "{\"t\":\"micro\",\"step\":1}\n");
  EXPECT_EQ(log.NextAddress(0).ToText(), "0/0/2");
  for (const char* type : {"step", "restored", "ready"}) {
    log.AddLogbookBytes(0, file, "{\"t\":\"" + std::string(type) + "\"}\n");
  }
  EXPECT_EQ(log.NextAddress(0).ToText(), "0/1/0");
  EXPECT_EQ(log.NextAddress(1).ToText(), "1/0/0");
}

TEST(AttemptLogTest, AnInterruptedOperationGivesItsAddressBack) {
  AttemptLog log(1);
  log.ReturnAddress(log.NextAddress(0));
  EXPECT_EQ(log.NextAddress(0).ToText(), "0/0/0");
}

TEST(AttemptLogTest, ATornRecordIsNoEvent) {
  AttemptLog log(1);
  EXPECT_TRUE(log.AddLogbookBytes(0, {1, 2}, "{\"t\":\"st").empty());
  EXPECT_EQ(log.AddLogbookBytes(0, {1, 2}, "ep\"}\n").size(), 1U);
  AttemptResult result;
  log.Finish(result);
  ASSERT_EQ(result.events.size(), 1U);
  EXPECT_EQ(std::get<RecordEvent>(result.events[0]).line, "{\"t\":\"step\"}");
}

TEST(AttemptLogTest, OutputBeyondTheLimitIsSaid) {
  AttemptLog log(1);
  const std::string line(1000, 'x');
  while (log.WantsOutput(0, 1)) {
    log.CountOutput(0, 1, 1001);
    log.AddOutputBytes(0, 1, line + "\n");
  }
  AttemptResult result;
  log.Finish(result);
  EXPECT_EQ(result.events.size(), kMaxOutputBytes / 1001 + 1);
  ASSERT_EQ(result.blind_spots.size(), 1U);
}

TEST(RecordTypeTest, IsTheFieldT) {
  EXPECT_EQ(RecordType("{\"t\":\"step\",\"step\":3}"), "step");
  EXPECT_EQ(RecordType("{\"step\": 3, \"t\": \"ready\"}"), "ready");
  EXPECT_EQ(RecordType("{\"step\":3}"), "");
  EXPECT_EQ(RecordType("{\"t\":3}"), "");
}

TEST(RestWatchTest, NeedsNoEventNoWorkAndHardlyAnyCpuTimeForTheWholeLimit) {
  using std::chrono::microseconds;
  using std::chrono::milliseconds;
  const Clock::time_point start{};
  RestWatch watch(milliseconds(100), 50, start);
  const auto is_at_rest = [&](int at_ms, Activity seen) {
    return watch.Sample(start + milliseconds(at_ms), seen);
  };
  EXPECT_FALSE(watch.IsDue(start));
  EXPECT_FALSE(is_at_rest(20, {1, milliseconds(1), false}));
  EXPECT_FALSE(is_at_rest(110, {1, milliseconds(1), false}));
  EXPECT_FALSE(is_at_rest(115, {2, milliseconds(1), false}));  // an event
  EXPECT_FALSE(is_at_rest(120, {2, milliseconds(2), false}));  // CPU time
  EXPECT_FALSE(is_at_rest(125, {2, milliseconds(2), true}));   // a thread that could run
  EXPECT_FALSE(is_at_rest(224, {2, milliseconds(2), false}));
  EXPECT_TRUE(is_at_rest(225, {2, milliseconds(2) + microseconds(4900), false}));  // polls
  EXPECT_FALSE(is_at_rest(226, {2, milliseconds(1), false}));  // one of them has ended
}

}  // namespace
}  // namespace reprise
