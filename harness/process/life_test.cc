// How attempts end, whatever the target does: nothing hangs, nothing is left, and the result says
// it.

#include <gmock/gmock.h>
#include <sys/wait.h>

#include <csignal>
#include <map>
#include <thread>

#include "harness/process/launch_child.h"
#include "harness/process/machine.h"
#include "harness/process/stop.h"
#include "harness/process/testing.h"

namespace reprise {
namespace {

using ::reprise::testing::AttemptFolders;
using ::reprise::testing::Content;
using ::reprise::testing::CountBlindSpots;
using ::reprise::testing::Joined;
using ::reprise::testing::MakeSupervisor;
using ::reprise::testing::MustRun;
using ::reprise::testing::ProcessesWith;
using ::reprise::testing::TestInjector;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A variable that all processes of one test's targets have, and no others.
std::string MarkWith(AttemptSpec& spec) {
  static int count = 0;
  const std::string value = std::to_string(getpid()) + "-" + std::to_string(++count);
  spec.environment["REPRISE_TEST_MARK"] = value;
  return "REPRISE_TEST_MARK=" + value;
}

TEST(LifeTest, TellsExitStatusSignalAndCost) {
  const auto supervisor = MakeSupervisor();
  const AttemptFolders folders;
  const AttemptResult three = MustRun(*supervisor, folders.Spec("ends", {"3"}));
  EXPECT_EQ(three.ranks[0].end, RankEnd::kExited);
  EXPECT_EQ(three.ranks[0].status, 3);
  EXPECT_GT(three.ranks[0].peak_memory_bytes, 100'000);
  EXPECT_GT(three.wall_time.count(), 0);
  const AttemptResult aborted = MustRun(*supervisor, folders.Spec("ends", {"abort"}));
  EXPECT_EQ(aborted.end, AttemptEnd::kAllExited);
  EXPECT_EQ(aborted.ranks[0].end, RankEnd::kSignalled);
  EXPECT_EQ(aborted.ranks[0].status, SIGABRT);
}

TEST(LifeTest, KeepsAnOutputLineWithoutItsNewline) {
  const auto supervisor = MakeSupervisor();
  const AttemptFolders folders;
  const AttemptResult result = MustRun(*supervisor, folders.Spec("ends", {"0"}));
  ASSERT_EQ(result.events.size(), 1U);
  EXPECT_EQ(std::get<OutputEvent>(result.events[0]).line, "about to end");
  EXPECT_EQ(std::get<OutputEvent>(result.events[0]).stream, 2);
  EXPECT_EQ(Content(folders.Output() / "rank-0.err"), "about to end");
}

TEST(LifeTest, SaysWhichProgramDoesNotExist) {
  const auto supervisor = MakeSupervisor();
  const AttemptFolders folders;
  AttemptSpec spec = folders.Spec("no-such-victim");
  const auto missing = supervisor->Run(spec);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(missing.error().ToString(), HasSubstr("no-such-victim"));
  spec.commands[0][0] = "no-such-program-in-path";
  EXPECT_EQ(supervisor->Run(spec).error().code, ErrorCode::kNotFound);
  spec.commands[0][0] = folders.Other().string();  // a folder can be entered, not executed
  EXPECT_EQ(supervisor->Run(spec).error().code, ErrorCode::kNotFound);
}

TEST(LifeTest, SaysWhenAFileCannotBeExecuted) {
  const auto supervisor = MakeSupervisor();
  const AttemptFolders folders;
  const auto script = folders.Other() / "text";
  ASSERT_TRUE(WriteFileAtomically(script, "no program\n"));
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  AttemptSpec spec = folders.Spec("ends");
  spec.commands[0] = {script.string()};
  const auto result = supervisor->Run(spec);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().ToString(), HasSubstr("starting rank 0"));
}

TEST(LifeTest, FindsAHangAndTellsWhereAllThreadsWait) {
  const auto supervisor = MakeSupervisor();
  const AttemptFolders folders;
  for (const char* how : {"pause", "stop"}) {
    AttemptSpec spec = folders.Spec("hangs", {how});
    spec.hang_after = std::chrono::milliseconds(100);
    const std::string mark = MarkWith(spec);
    const AttemptResult result = MustRun(*supervisor, spec);
    EXPECT_EQ(result.end, AttemptEnd::kHung) << how;
    EXPECT_EQ(result.ranks[0].end, RankEnd::kKilledAfter);
    EXPECT_THAT(result.stacks, HasSubstr("(hangs"));
    EXPECT_THAT(result.stacks, HasSubstr("wchan"));
    EXPECT_THAT(ProcessesWith(mark), IsEmpty());
  }
}

TEST(LifeTest, EndsAtTheHardLimit) {
  const auto supervisor = MakeSupervisor();
  const AttemptFolders folders;
  AttemptSpec spec = folders.Spec("pair", {"100000000", "fails"}, 2);  // busy, so it does not hang
  spec.timeout = std::chrono::milliseconds(300);
  const AttemptResult result = MustRun(*supervisor, spec);
  EXPECT_EQ(result.end, AttemptEnd::kTimeout);
  EXPECT_EQ(result.ranks[0].end, RankEnd::kKilledAfter);
}

TEST(LifeTest, LeavesNoDaemonBehind) {
  const auto supervisor = MakeSupervisor();
  const AttemptFolders folders;
  AttemptSpec spec = folders.Spec("daemon");
  const std::string mark = MarkWith(spec);
  const AttemptResult result = MustRun(*supervisor, spec);
  EXPECT_EQ(result.ranks[0].end, RankEnd::kExited);
  EXPECT_EQ(result.ranks[0].status, 5);
  EXPECT_THAT(ProcessesWith(mark), IsEmpty());
}

TEST(LifeTest, KillsATreeThatIgnoresSignalsAndHasStoppedProcesses) {
  const auto supervisor = MakeSupervisor();
  const AttemptFolders folders;
  AttemptSpec spec = folders.Spec("daemon", {"stay"});
  const std::string mark = MarkWith(spec);
  TestInjector injector;
  std::size_t alive = 0;
  injector.on_record = [&](int, const LogRecord&) {
    alive = ProcessesWith(mark).size();
    return Action::KillAllRanks();
  };
  spec.injectors = {&injector};
  const AttemptResult result = MustRun(*supervisor, spec);
  EXPECT_EQ(alive, 3U);
  EXPECT_EQ(result.ranks[0].end, RankEnd::kKilledByFault);
  EXPECT_THAT(ProcessesWith(mark), IsEmpty());
}

TEST(LifeTest, AFloodOfOutputCostsLittleMemoryAndDisk) {
  const auto supervisor = MakeSupervisor();
  const AttemptFolders folders;
  const AttemptResult result = MustRun(*supervisor, folders.Spec("flood", {"200"}));
  EXPECT_EQ(result.ranks[0].status, 0);
  ASSERT_EQ(result.events.size(), 1U);  // no line of the flood is whole
  EXPECT_EQ(std::get<OutputEvent>(result.events.back()).line, "done");
  EXPECT_LE(std::filesystem::file_size(folders.Output() / "rank-0.out"), 65U << 20U);
  EXPECT_EQ(CountBlindSpots(result, "was swallowed"), 1) << Joined(result.blind_spots);
  EXPECT_EQ(CountBlindSpots(result, "of 209715200 bytes on standard output"), 1)
      << Joined(result.blind_spots);
}

TEST(LifeTest, BadHabitsOfATargetAreItsOwnAndNothingIsLeft) {
  const auto supervisor = MakeSupervisor();
  const std::map<std::string, int> wanted = {
      {"leaks", 0}, {"eats", 8}, {"zombies", 0}, {"mumbles", 0}};
  for (const auto& [habit, status] : wanted) {
    const AttemptFolders folders;
    AttemptSpec spec = folders.Spec("bad_habits", {habit, "0"});
    const std::string mark = MarkWith(spec);
    const AttemptResult result = MustRun(*supervisor, spec);
    EXPECT_EQ(result.end, AttemptEnd::kAllExited) << habit;
    EXPECT_EQ(result.ranks[0].status, status) << habit;
    EXPECT_THAT(ProcessesWith(mark), IsEmpty()) << habit;
    EXPECT_EQ(CountBlindSpots(result, "logbook records longer than"), habit == "mumbles" ? 1 : 0)
        << habit << Joined(result.blind_spots);
  }
}

TEST(LifeTest, AStopRequestEndsTheAttempt) {
  const AttemptFolders folders;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {  // the request is for the whole process, so it is made in another one
    InstallStopHandlers();
    const auto supervisor = MakeSupervisor();
    AttemptSpec spec = folders.Spec("hangs", {"pause"});
    TestInjector injector;
    injector.on_record = [](int, const LogRecord&) {
      raise(SIGTERM);
      return Action::Continue();
    };
    spec.injectors = {&injector};
    const auto result = supervisor->Run(spec);
    const bool good = !result && result.error().code == ErrorCode::kDeadline;
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(LifeTest, NothingSurvivesASupervisorThatIsKilled) {
  const AttemptFolders folders;
  AttemptSpec spec = folders.Spec("daemon", {"stay"});
  const std::string mark = MarkWith(spec);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto supervisor = MakeSupervisor();
    TestInjector injector;
    injector.on_record = [](int, const LogRecord&) {
      raise(SIGKILL);
      return Action::Continue();
    };
    spec.injectors = {&injector};
    static_cast<void>(supervisor->Run(spec));
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  // Their end is under way when their tracer's is seen.
  for (int i = 0; i < 200 && !ProcessesWith(mark).empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_THAT(ProcessesWith(mark), IsEmpty());
}

TEST(LifeTest, GivesRanksTheEnvironmentOfTorchrun) {
  const auto supervisor = MakeSupervisor();
  const AttemptFolders folders;
  AttemptSpec spec = folders.Spec("ends", {}, 2);
  for (auto& command : spec.commands) {
    command = {"sh", "-c",
               "echo $RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $MASTER_ADDR "
               "$OMP_NUM_THREADS $REPRISE_ATTEMPT $WORD $PYTHONHASHSEED"};
  }
  spec.environment["WORD"] = "given";
  spec.attempt = 4;
  const AttemptResult result = MustRun(*supervisor, spec);
  EXPECT_EQ(Content(folders.Output() / "rank-1.out"), "1/2 1/2 127.0.0.1 1 4 given 5\n");
}

TEST(LifeTest, ExaminesTheMachineWithoutLeavingAChild) {
  const std::vector<MachineFact> facts = ExamineMachine();
  ASSERT_GE(facts.size(), 8U);
  for (const MachineFact& fact : facts) {
    EXPECT_FALSE(fact.name.empty());
    EXPECT_FALSE(fact.detail.empty()) << fact.name;
    EXPECT_EQ(fact.ok, fact.lost.empty()) << fact.name;
  }
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);  // ECHILD
}

}  // namespace
}  // namespace reprise
