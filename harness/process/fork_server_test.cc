// Lives that are forked from a server behave as lives that were started cold.

#include <gmock/gmock.h>

#include <csignal>

#include "harness/process/testing.h"

namespace reprise {
namespace {

using ::reprise::testing::AttemptFolders;
using ::reprise::testing::Content;
using ::reprise::testing::MakeSupervisor;
using ::reprise::testing::MustRun;
using ::reprise::testing::OperationsOf;
using ::reprise::testing::ProcessesWith;
using ::reprise::testing::ShortOperations;
using ::reprise::testing::TestInjector;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

AttemptSpec ServedSpec(const AttemptFolders& folders, std::vector<std::string> arguments,
                       int world = 1) {
  AttemptSpec spec = folders.Spec("serves", std::move(arguments), world);
  spec.use_fork_server = true;
  spec.working_folder = folders.Other();
  spec.environment["WORD"] = "word";
  return spec;
}

TEST(ForkServerTest, GivesEachLifeItsArgumentsEnvironmentFolderAndStreams) {
  const auto supervisor = MakeSupervisor();
  const AttemptFolders folders;
  const AttemptResult result = MustRun(*supervisor, ServedSpec(folders, {"first", "4"}, 2));
  const std::string expected = "first word " + folders.Other().string() + " warm";
  EXPECT_EQ(Content(folders.Checkpoint() / "rank-0"), expected);
  EXPECT_EQ(Content(folders.Checkpoint() / "rank-1"), expected);
  EXPECT_EQ(Content(folders.Output() / "rank-1.out"), expected + "\n");
  for (const RankResult& rank : result.ranks) {
    EXPECT_EQ(rank.end, RankEnd::kExited);
    EXPECT_EQ(rank.status, 4);
    EXPECT_GT(rank.peak_memory_bytes, 0);
  }
}

TEST(ForkServerTest, RecordsTheSameOperationsAsAColdStart) {
  const auto supervisor = MakeSupervisor();
  const AttemptFolders folders;
  AttemptSpec spec = ServedSpec(folders, {"same", "0"});
  const std::vector<std::string> forked = ShortOperations(MustRun(*supervisor, spec));
  std::filesystem::remove(folders.Checkpoint() / "rank-0");
  spec.use_fork_server = false;
  std::vector<std::string> cold = ShortOperations(MustRun(*supervisor, spec));
  ASSERT_EQ(forked.size(), 2U);
  EXPECT_EQ(forked[0], cold[0]);
  EXPECT_THAT(forked[1], HasSubstr("warm"));
  EXPECT_THAT(cold[1], HasSubstr("cold"));
}

TEST(ForkServerTest, ServesManyLivesFromOneProcessAndSurvivesTheirKills) {
  const auto supervisor = MakeSupervisor();
  const AttemptFolders folders;
  TestInjector injector;
  injector.on_operation = [](const Operation& operation) {
    return operation.kind == OperationKind::kWrite ? Action::KillAllRanks() : Action::Continue();
  };
  AttemptSpec spec = ServedSpec(folders, {"life", "0"});
  spec.environment["REPRISE_TEST_MARK"] = "server-" + std::to_string(getpid());
  std::string server;
  for (int i = 0; i < 5; ++i) {
    spec.injectors = i % 2 == 0 ? std::vector<Injector*>{&injector} : std::vector<Injector*>{};
    const AttemptResult result = MustRun(*supervisor, spec);
    EXPECT_EQ(result.ranks[0].end, i % 2 == 0 ? RankEnd::kKilledByFault : RankEnd::kExited);
    const auto alive = ProcessesWith(spec.environment["REPRISE_TEST_MARK"]);
    ASSERT_EQ(alive.size(), 1U);
    EXPECT_TRUE(server.empty() || server == alive[0]);
    server = alive[0];
  }
}

TEST(ForkServerTest, TellsTheSignalThatEndsALife) {
  const auto supervisor = MakeSupervisor();
  const AttemptFolders folders;
  const AttemptResult result = MustRun(*supervisor, ServedSpec(folders, {"crash", "0"}));
  EXPECT_EQ(result.ranks[0].end, RankEnd::kSignalled);
  EXPECT_EQ(result.ranks[0].status, SIGKILL);
}

TEST(ForkServerTest, AServerThatWasKilledIsStartedAgain) {
  const auto supervisor = MakeSupervisor();
  const AttemptFolders folders;
  AttemptSpec spec = ServedSpec(folders, {"life", "0"});
  spec.environment["REPRISE_TEST_MARK"] = "again-" + std::to_string(getpid());
  MustRun(*supervisor, spec);
  const auto first = ProcessesWith(spec.environment["REPRISE_TEST_MARK"]);
  ASSERT_EQ(first.size(), 1U);
  kill(std::stoi(first[0]), SIGKILL);
  const AttemptResult result = MustRun(*supervisor, spec);
  EXPECT_EQ(result.ranks[0].status, 0);
  EXPECT_NE(ProcessesWith(spec.environment["REPRISE_TEST_MARK"]), first);
}

TEST(ForkServerTest, AnotherLoadTimeVariableMeansAnotherServer) {
  const auto supervisor = MakeSupervisor();
  const AttemptFolders folders;
  AttemptSpec spec = ServedSpec(folders, {"life", "0"});
  spec.environment["REPRISE_TEST_MARK"] = "keys-" + std::to_string(getpid());
  for (const char* threads : {"1", "2", "1"}) {
    spec.environment["OMP_NUM_THREADS"] = threads;
    MustRun(*supervisor, spec);
  }
  EXPECT_EQ(ProcessesWith(spec.environment["REPRISE_TEST_MARK"]).size(), 2U);
}

TEST(ForkServerTest, SaysThatATargetDoesNotTakePart) {
  const auto supervisor = MakeSupervisor();
  const AttemptFolders folders;
  AttemptSpec spec = ServedSpec(folders, {"1"});
  spec.commands[0][0] = std::string(REPRISE_VICTIMS) + "/ends";
  const auto result = supervisor->Run(spec);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(result.error().ToString(), HasSubstr("reprise_run_main"));
  EXPECT_THAT(result.error().ToString(), HasSubstr("usage: ends"));
}

TEST(ForkServerTest, EndsWithItsSupervisor) {
  const AttemptFolders folders;
  AttemptSpec spec = ServedSpec(folders, {"life", "0"});
  const std::string mark = "ends-" + std::to_string(getpid());
  spec.environment["REPRISE_TEST_MARK"] = mark;
  {
    const auto supervisor = MakeSupervisor();
    MustRun(*supervisor, spec);
    EXPECT_EQ(ProcessesWith(mark).size(), 1U);
  }
  EXPECT_THAT(ProcessesWith(mark), IsEmpty());
}

}  // namespace
}  // namespace reprise
