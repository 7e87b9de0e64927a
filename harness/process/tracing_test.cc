// What the tracer sees of the victims of injectors/testcases is exactly what they do.

#include <gmock/gmock.h>

#include "harness/process/testing.h"

namespace reprise {
namespace {

using ::reprise::testing::AttemptFolders;
using ::reprise::testing::Content;
using ::reprise::testing::Contradictions;
using ::reprise::testing::Found;
using ::reprise::testing::Joined;
using ::reprise::testing::MakeSupervisor;
using ::reprise::testing::MustRun;
using ::reprise::testing::OperationsOf;
using ::reprise::testing::ShortOperations;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

AttemptResult RunVictim(const AttemptFolders& folders, const std::string& name,
                        std::vector<std::string> arguments = {}, int world = 1) {
  const auto supervisor = MakeSupervisor();
  AttemptResult result = MustRun(*supervisor, folders.Spec(name, std::move(arguments), world));
  for (const RankResult& rank : result.ranks) {
    EXPECT_EQ(rank.end, RankEnd::kExited);
    EXPECT_EQ(rank.status, 0) << Content(folders.Output() / "rank-0.err");
  }
  EXPECT_EQ(result.end, AttemptEnd::kAllExited);
  return result;
}

TEST(TracingTest, SeesASaveWithOffsetsAndData) {
  const AttemptFolders folders;
  const AttemptResult result = RunVictim(folders, "save_by_rename");
  std::vector<std::string> seen = ShortOperations(result);
  ASSERT_GE(seen.size(), 11U) << Joined(seen);
  seen.resize(11);
  EXPECT_THAT(seen,
              ElementsAre("mkdir(mkdir) step-1", "open(openat) step-1/shard creates truncates",
                          "write(write) step-1/shard 0+10 \"0123456789\"",
                          "write(pwrite64) step-1/shard 4+3 \"abc\"",
                          "write(writev) step-1/shard 10+12 \"first,second\"",
                          "sync(fsync) step-1/shard", "open(openat) latest.tmp creates truncates",
                          "write(write) latest.tmp 0+6 \"step-1\"", "sync(fsync) latest.tmp",
                          "rename(rename) latest.tmp -> latest", "sync(fsync) ."));
  EXPECT_THAT(result.blind_spots, IsEmpty());
}

TEST(TracingTest, NumbersOperationsFromEachSteps) {
  const AttemptFolders folders;
  const std::vector<Operation> operations = OperationsOf(RunVictim(folders, "save_by_rename"));
  ASSERT_EQ(operations.size(), 11U + 13U + 13U);
  EXPECT_EQ(operations[0].address.ToText(), "0/0/0");
  EXPECT_EQ(operations[10].address.ToText(), "0/0/10");
  EXPECT_EQ(operations[11].address.ToText(), "0/1/0");
  EXPECT_EQ(operations[36].address.ToText(), "0/2/12");
  EXPECT_EQ(operations[0].pid, operations[36].pid);
  EXPECT_NE(operations[2].inode, 0U);
  EXPECT_EQ(operations[1].mode, 0644U);
}

TEST(TracingTest, PutsRecordsLinesAndOperationsIntoOneOrder) {
  const AttemptFolders folders;
  const AttemptResult result = RunVictim(folders, "save_by_rename");
  std::string order;
  for (const AttemptEvent& event : result.events) {
    order += std::holds_alternative<RecordEvent>(event)   ? 'R'
             : std::holds_alternative<OutputEvent>(event) ? 'O'
                                                          : '.';
  }
  EXPECT_EQ(order, "RR...........OR.............OR.............O");
}

TEST(TracingTest, SeesWritesThroughDescriptorsThatTheTargetPutsAtLowNumbers) {
  const AttemptFolders folders;
  const AttemptResult result = RunVictim(folders, "redirects");
  EXPECT_THAT(
      ShortOperations(result),
      ElementsAre("open(openat) redirected creates truncates",
                  "write(write) redirected 0+6 \"to one\"", "open(openat) low creates truncates",
                  "write(write) low 0+3 \"dup\"", "write(write) low 3+5 \"fcntl\"",
                  "write(write) low 8+5 \"seven\"", "write(write) low 13+5 \"child\""));
  EXPECT_THAT(result.blind_spots, IsEmpty());
}

TEST(TracingTest, KeepsTheOrderOfThreadsThatWriteAtOnce) {
  const AttemptFolders folders;
  const AttemptResult result = RunVictim(folders, "threads_write");
  std::string common;
  int other_count = 0;
  for (const Operation& operation : OperationsOf(result)) {
    if (operation.kind == OperationKind::kWrite && operation.path == "common") {
      EXPECT_EQ(operation.offset_bytes, static_cast<std::int64_t>(common.size()));
      common += operation.data;
    } else if (operation.kind == OperationKind::kWrite) {
      ++other_count;
    }
  }
  EXPECT_EQ(other_count, 200);
  EXPECT_EQ(common.size(), 6400U);
  EXPECT_THAT(Contradictions(OperationsOf(result), Found(folders)), IsEmpty());
}

TEST(TracingTest, FollowsAProgramThatIsExecuted) {
  const AttemptFolders folders;
  const AttemptResult result = RunVictim(folders, "runs_shell");
  const std::vector<std::string> seen = ShortOperations(result);
  EXPECT_THAT(seen, Contains("write(write) a 0+4 \"one\n\""));
  EXPECT_THAT(seen, Contains("write(write) a 4+4 \"two\n\""));
  EXPECT_THAT(seen, Contains(HasSubstr("a -> b")));
  EXPECT_THAT(seen, Contains("write(write) inherited 0+6 \"three\n\""));
}

TEST(TracingTest, NetworkTrafficDoesNotStop) {
  const AttemptFolders few;
  const AttemptFolders many;
  const auto few_stops = RunVictim(few, "pair", {"10", "fails"}, 2).tracer_stop_count;
  const auto many_stops = RunVictim(many, "pair", {"2000", "fails"}, 2).tracer_stop_count;
  EXPECT_LT(many_stops, few_stops + 100);  // 4,000 messages more
}

TEST(TracingTest, RecordsBothRanks) {
  const AttemptFolders folders;
  const AttemptResult result = RunVictim(folders, "pair", {"1", "fails"}, 2);
  const std::vector<std::string> seen = ShortOperations(result);
  EXPECT_THAT(seen, Contains("write(write) rank-0 0+4 \"mine\""));
  EXPECT_THAT(seen, Contains("write(write) rank-1 0+4 \"mine\""));
}

TEST(TracingTest, LeavesDataOutWhenItIsNotWanted) {
  const AttemptFolders folders;
  const auto supervisor = MakeSupervisor();
  AttemptSpec spec = folders.Spec("save_by_rename");
  spec.record_data = false;
  for (const Operation& operation : OperationsOf(MustRun(*supervisor, spec))) {
    EXPECT_TRUE(operation.data.empty());
  }
}

}  // namespace
}  // namespace reprise
