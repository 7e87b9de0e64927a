// End to end with the tiny trainer: commands, exit statuses, ends that are always clean.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "tests/binary.h"

namespace reprise::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A scenario of one target and these cases (JSON text of the array).
std::string Scenario(const std::string& trouble, const std::string& cases,
                     const std::string& environment = "") {
  return R"({"schema": "reprise.scenario/1", "name": "tiny", "targets": [{"id": "tiny", "command": [")" +
         std::string(TINY_TRAINER) +
         R"(", "--ckpt", "{ckpt}", "--steps", "{steps}", "--trouble", ")" + trouble +
         R"("], "format": "sharded-safetensors", "steps": 9, "fork_server": true)" +
         (environment.empty() ? "" : R"(, "environment": {"MARK": ")" + environment + R"("})") +
         R"(}], "cases": )" + cases + "}";
}

constexpr const char* kKillAtFive =
    R"([{"world": [[1, 1]], "faults": [{"kind": "kill.step", "step": 5}]}])";
constexpr const char* kEveryOperation =
    R"([{"world": [[1, 1]], "faults": [{"kind": "kill.operation", "operation": "all",
        "cut": ["before", "after", "bytes:7"]}]}])";

// The only case that the scenario names; beside it every plan has a finished run started again.
json Only(const json& report) {
  json named = json::array();
  for (const json& entry : report["cases"]) {
    if (!entry["faults"].empty() || entry["world"].size() != 2) {
      named.push_back(entry);
    }
  }
  EXPECT_EQ(named.size(), 1U);
  return named.at(0);
}

TEST(RunTest, AKilledSoundTrainingIsExact) {
  const Folder folder;
  folder.Write("s.json", Scenario("none", kKillAtFive));
  const Finished run = Reprise({"run", "s.json"}, folder.Path());
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  const json report = ReadReport(folder.Path() / "reprise-out");
  EXPECT_EQ(report["schema"], "reprise.report/1");
  const json entry = Only(report);
  EXPECT_EQ(entry["verdict"], "exact");
  EXPECT_EQ(entry["restored_step"], 3);
  EXPECT_EQ(entry["lost_steps"], 2);
  EXPECT_TRUE(report["targets"][0]["calibration"]["deterministic"].get<bool>());
}

TEST(RunTest, EveryOperationOfEverySaveCanBeCutAndTheFolderIsAsPredicted) {
  const Folder folder;
  folder.Write("s.json", Scenario("none", kEveryOperation));
  const Finished run = Reprise({"run", "s.json", "--quiet"}, folder.Path());
  EXPECT_EQ(run.status, 0) << run.out << run.err;
  const json report = ReadReport(folder.Path() / "reprise-out");
  EXPECT_GT(report["cases"].size(), 100U);
  for (const json& entry : report["cases"]) {
    EXPECT_EQ(entry["verdict"], "exact") << entry.dump(2);
  }
}

TEST(RunTest, LostMomentumIsFoundNamedAndConfirmed) {
  const Folder folder;
  folder.Write("s.json", Scenario("lose-momentum", kKillAtFive));
  const Finished run = Reprise({"run", "s.json"}, folder.Path());
  EXPECT_EQ(run.status, 1);
  const json report = ReadReport(folder.Path() / "reprise-out");
  const json entry = Only(report);
  EXPECT_EQ(entry["verdict"], "diverged");
  EXPECT_EQ(entry["cause"], "optimizer.moments: in file, never applied");
  EXPECT_EQ(entry["divergence"]["layer"], "D1");
  EXPECT_EQ(entry["divergence"]["step"], 3);
  EXPECT_EQ(entry["divergence"]["name"], "momentum/w");
  ASSERT_EQ(report["findings"].size(), 1U);
  EXPECT_THAT(run.out, HasSubstr("optimizer.moments: in file, never applied"));
}

TEST(RunTest, ATargetThatIsNotDeterministicIsNeverCalledWrong) {
  const Folder folder;
  folder.Write("s.json", Scenario("nondeterministic", kKillAtFive));
  const Finished run = Reprise({"run", "s.json"}, folder.Path());
  EXPECT_EQ(run.status, 4) << run.out << run.err;
  const json report = ReadReport(folder.Path() / "reprise-out");
  EXPECT_FALSE(report["targets"][0]["calibration"]["deterministic"].get<bool>());
  EXPECT_EQ(Only(report)["verdict"], "cannot-judge");
}

TEST(RunTest, ATargetThatEndsAtOnceCannotBeJudgedAndItsWordsAreShown) {
  const Folder folder;
  folder.Write("s.json", Scenario("exit-at-once", kKillAtFive));
  const Finished run = Reprise({"run", "s.json"}, folder.Path());
  EXPECT_EQ(run.status, 4) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("this target ends at once"));
}

TEST(RunTest, ATargetThatDiesInLoadIsCrashed) {
  const Folder folder;
  folder.Write("s.json", Scenario("die-in-load", kKillAtFive));
  EXPECT_EQ(Reprise({"run", "s.json"}, folder.Path()).status, 1);
  EXPECT_EQ(Only(ReadReport(folder.Path() / "reprise-out"))["verdict"], "crashed");
}

TEST(RunTest, ATargetThatHangsInLoadIsHungAndItsStacksAreKept) {
  const Folder folder;
  folder.Write("s.json", Scenario("hang-in-load", kKillAtFive));
  EXPECT_EQ(Reprise({"run", "s.json"}, folder.Path()).status, 1);
  const json report = ReadReport(folder.Path() / "reprise-out");
  const json entry = Only(report);
  EXPECT_EQ(entry["verdict"], "hung");
  const auto attempt = folder.Path() / "reprise-out/cases" / entry["id"].get<std::string>() /
                       "attempt-1/attempt.jsonl";
  std::ifstream file(attempt);
  std::string head;
  std::getline(file, head);
  EXPECT_THAT(json::parse(head)["stacks"].get<std::string>(), HasSubstr("tiny_trainer"));
}

TEST(RunTest, AGarbageLogbookOfTheTargetCannotBeJudgedAndIsNotOurFailure) {
  const Folder folder;
  folder.Write("s.json", Scenario("garbage-logbook", kKillAtFive));
  const Finished run = Reprise({"run", "s.json"}, folder.Path());
  EXPECT_EQ(run.status, 4) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("the logbook cannot be read"));
}

TEST(RunTest, ALogbookLineOfSixtyFourMebibytesCannotBeJudgedAndIsNotOurFailure) {
  const Folder folder;
  folder.Write("s.json", Scenario("huge-logbook-line", kKillAtFive));
  const Finished run = Reprise({"run", "s.json"}, folder.Path());
  EXPECT_EQ(run.status, 4) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("the logbook cannot be read"));
}

TEST(RunTest, WithStandardOutputClosedTheEventsStayWhole) {
  const Folder folder;
  folder.Write("s.json", Scenario("none", kKillAtFive));
  const Finished run = Reprise({"run", "s.json"}, folder.Path(), StandardOutput::kClosed);
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_EQ(Reprise({"report", "reprise-out", "--quiet"}, folder.Path()).status, 0);
}

TEST(RunTest, TheJsonReportIsWrittenThroughALink) {
  const Folder folder;
  folder.Write("s.json", Scenario("none", kKillAtFive));
  folder.Write("real.json", "old");
  std::filesystem::create_symlink("real.json", folder.Path() / "link.json");
  ASSERT_EQ(Reprise({"run", "s.json", "--json", "link.json"}, folder.Path()).status, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(folder.Path() / "link.json"));
  std::ifstream file(folder.Path() / "real.json");
  EXPECT_EQ(json::parse(file)["schema"], "reprise.report/1");
  EXPECT_EQ(Reprise({"run", "s.json", "--json", "s.json"}, folder.Path()).status, 2);
}

TEST(RunTest, AFaultThatDoesNotFireIsNotExercisedAndNothingIsProved) {
  const Folder folder;
  // The restart begins at step 3, so that step 2 never comes again.
  folder.Write("s.json", Scenario("none", R"([{"world": [[1, 1, 1]], "faults": [
      {"kind": "kill.step", "step": 5}, {"kind": "kill.step", "step": 2, "attempt": 1}]}])"));
  const Finished run = Reprise({"run", "s.json"}, folder.Path());
  EXPECT_EQ(Only(ReadReport(folder.Path() / "reprise-out"))["verdict"], "not-exercised") << run.out;
  EXPECT_EQ(run.status, 4);
}

TEST(RunTest, ACommandThatDoesNotExistIsTheUsersMistake) {
  const Folder folder;
  std::string scenario = Scenario("none", kKillAtFive);
  scenario.replace(scenario.find(TINY_TRAINER), std::string(TINY_TRAINER).size(),
                   "/no/such/trainer");
  folder.Write("s.json", scenario);
  const Finished run = Reprise({"run", "s.json"}, folder.Path());
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("/no/such/trainer"));
}

TEST(RunTest, SameScenarioAndSeedGiveTheSameReportApartFromTimes) {
  const Folder folder;
  folder.Write("s.json", Scenario("none", R"([{"world": [[1, 1]], "faults": [
      {"kind": "kill.operation", "operation": {"random": 10}, "cut": ["before", "bytes:9"]}]}])"));
  ASSERT_EQ(Reprise({"run", "s.json", "--out", "a", "--seed", "7"}, folder.Path()).status, 0);
  ASSERT_EQ(
      Reprise({"run", "s.json", "--out", "b", "--seed", "7", "--jobs", "1"}, folder.Path()).status,
      0);
  ASSERT_EQ(Reprise({"run", "s.json", "--out", "c", "--seed", "8"}, folder.Path()).status, 0);
  const json a = WithoutTimes(ReadReport(folder.Path() / "a"));
  EXPECT_EQ(a, WithoutTimes(ReadReport(folder.Path() / "b")));
  EXPECT_NE(a["cases"], WithoutTimes(ReadReport(folder.Path() / "c"))["cases"]);
}

TEST(RunTest, AFinishedRunThatIsStartedAgainMustStayAsItIs) {
  const std::map<std::string, std::pair<std::string, std::string>> wanted = {
      {"none", {"exact", ""}},
      {"train-on", {"overrun", "finish: trained on after the last step"}},
      {"resave-finished", {"diverged", "finish: newest checkpoint changed"}}};
  for (const auto& [trouble, outcome] : wanted) {
    const Folder folder;
    folder.Write("s.json", Scenario(trouble, R"([{"world": [[1, 1]], "faults": []}])"));
    const Finished run = Reprise({"run", "s.json"}, folder.Path());
    EXPECT_EQ(run.status, trouble == "none" ? 0 : 1) << run.out << run.err;
    const json report = ReadReport(folder.Path() / "reprise-out");
    ASSERT_EQ(report["cases"].size(), 1U) << trouble;
    EXPECT_EQ(report["cases"][0]["verdict"], outcome.first) << trouble << run.out;
    EXPECT_EQ(report["cases"][0]["cause"].is_null() ? "" : report["cases"][0]["cause"],
              outcome.second);
  }
}

TEST(ReplayTest, EveryCaseComesOutTheSame) {
  const Folder folder;
  folder.Write("s.json", Scenario("lose-momentum", R"([{"world": [[1, 1]], "faults": [
      {"kind": "kill.step", "step": [2, 5]}]}, {"world": [[1]], "faults": []}])"));
  ASSERT_EQ(Reprise({"run", "s.json"}, folder.Path()).status, 1);
  for (const json& entry : ReadReport(folder.Path() / "reprise-out")["cases"]) {
    const Finished replay = Reprise({"replay", entry["id"]}, folder.Path());
    EXPECT_EQ(replay.status, entry["verdict"] == "exact" ? 0 : 1) << replay.err;
    EXPECT_THAT(replay.err, AllOf(HasSubstr("the same: " + entry["verdict"].get<std::string>())));
  }
  const Finished unknown = Reprise({"replay", "tiny"}, folder.Path());
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("no case \"tiny\""));
}

TEST(ReportTest, RendersAnEarlierRunAgain) {
  const Folder folder;
  folder.Write("s.json", Scenario("lose-momentum", kKillAtFive));
  ASSERT_EQ(Reprise({"run", "s.json"}, folder.Path()).status, 1);
  const json written = ReadReport(folder.Path() / "reprise-out");
  const Finished report = Reprise({"report", "reprise-out", "--json", "-"}, folder.Path());
  EXPECT_EQ(report.status, 1);
  EXPECT_EQ(json::parse(report.out), written);
  EXPECT_EQ(Reprise({"report", "nowhere"}, folder.Path()).status, 2);
}

// One run that loses momentum, judged again in four ways: none of them runs it again.
TEST(ReportTest, AcceptsKnownFindingsAndComparesWithAnEarlierRun) {
  const Folder folder;
  folder.Write("good.json", Scenario("none", kKillAtFive));
  folder.Write("bad.json", Scenario("lose-momentum", kKillAtFive));
  const std::vector<std::string> all = {"--report", "console,json,junit,markdown,github"};
  for (const char* out : {"good", "bad", "bad"}) {  // the second time it replaces its own files
    std::vector<std::string> run = {"run", std::string(out) + ".json", "--out", out};
    run.insert(run.end(), all.begin(), all.end());
    EXPECT_EQ(Reprise(run, folder.Path()).status, std::string(out) == "bad" ? 1 : 0);
    EXPECT_TRUE(std::filesystem::exists(folder.Path() / out / "report.md"));
  }
  const Finished worse = Reprise({"report", "bad", "--compare", "good"}, folder.Path());
  EXPECT_EQ(worse.status, 1);
  EXPECT_THAT(worse.out, HasSubstr("1: regressed"));
  const Finished better =
      Reprise({"report", "good", "--compare", "bad", "--json", "-"}, folder.Path());
  EXPECT_EQ(better.status, 0) << better.out;
  EXPECT_EQ(json::parse(better.out)["comparison"]["fixed"].size(), 1U);
  const std::string fingerprint = ReadReport(folder.Path() / "bad")["findings"][0]["fingerprint"];
  folder.Write("known.json", R"({"schema": "reprise.accepted/1", "accepted": [{"fingerprint": ")" +
                                 fingerprint + R"(", "reason": "known", "date": "2026-11-30"}]})");
  const Finished accepted = Reprise({"report", "bad", "--accept", "known.json"}, folder.Path());
  EXPECT_EQ(accepted.status, 0) << accepted.out;
  EXPECT_THAT(accepted.out, HasSubstr("(accepted 2026-11-30: known)"));
  folder.Write("wrong.json", R"({"schema": "reprise.accepted/1", "accepted": [{"fingerprint": "f",
                                 "reason": "r", "date": "2026-02-30"}]})");
  const Finished wrong = Reprise({"report", "bad", "--accept", "wrong.json"}, folder.Path());
  EXPECT_EQ(wrong.status, 2);
  EXPECT_THAT(wrong.err, HasSubstr("wrong.json: accepted[0].date: "));
}

TEST(OutTest, AFolderOfTheUserIsNeverTouched) {
  const Folder folder;
  folder.Write("s.json", Scenario("none", kKillAtFive));
  folder.Write("mine/thesis.tex", "text");
  const Finished run = Reprise({"run", "s.json", "--out", "mine"}, folder.Path());
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("not empty"));
  EXPECT_TRUE(std::filesystem::exists(folder.Path() / "mine/thesis.tex"));
}

// Waits until the run has judged its first case, so that it is in the middle of its work.
void AwaitFirstCase(const std::filesystem::path& events) {
  for (int i = 0; i < 3000; ++i) {
    std::ifstream file(events);
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (text.find("\"event\":\"case\"") != std::string::npos) {
      return;
    }
    usleep(10'000);
  }
  FAIL() << "the run never judged a case";
}

TEST(ReportTest, ARunThatDidNotFinishIsNoSuccess) {
  const Folder folder;
  folder.Write("s.json", Scenario("none", kEveryOperation));
  const pid_t pid = StartReprise({"run", "s.json", "--quiet"}, folder.Path());
  AwaitFirstCase(folder.Path() / "reprise-out/events.jsonl");
  kill(pid, SIGKILL);
  ASSERT_EQ(waitpid(pid, nullptr, 0), pid);
  const Finished report = Reprise({"report", "reprise-out"}, folder.Path());
  EXPECT_EQ(report.status, 3);
  EXPECT_THAT(report.out, HasSubstr("did not finish"));
}

TEST(OutTest, AnEarlierRunIsNotReplacedWhenItsFolderHoldsMore) {
  const Folder folder;
  folder.Write("s.json", Scenario("none", kKillAtFive));
  ASSERT_EQ(Reprise({"run", "s.json", "--out", "runs"}, folder.Path()).status, 0);
  ASSERT_EQ(Reprise({"run", "s.json", "--out", "runs/inner"}, folder.Path()).status, 0);
  const Finished run = Reprise({"run", "s.json", "--out", "runs"}, folder.Path());
  EXPECT_EQ(run.status, 2);
  EXPECT_THAT(run.err, HasSubstr("\"inner\""));
  EXPECT_TRUE(std::filesystem::exists(folder.Path() / "runs/inner/report.json"));
}

// A file system of its own for the run directory; needs root.
class Disk {
 public:
  explicit Disk(std::filesystem::path folder) : folder_(std::move(folder)) {
    std::filesystem::create_directories(folder_);
    is_mounted_ = mount("small", folder_.c_str(), "tmpfs", 0, "size=2m") == 0;
  }
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;
  ~Disk() {
    if (is_mounted_) {
      umount(folder_.c_str());
    }
  }
  [[nodiscard]] bool IsMounted() const { return is_mounted_; }
  [[nodiscard]] bool Grow() const {
    return mount("small", folder_.c_str(), "tmpfs", MS_REMOUNT, "size=200m") == 0;
  }

 private:
  std::filesystem::path folder_;
  bool is_mounted_ = false;
};

TEST(FullDiskTest, OfTheRunDirectoryIsOurTroubleAndWhatWasFoundIsKept) {
  const Folder folder;
  const Disk disk(folder.Path() / "out");
  if (!disk.IsMounted()) {
    GTEST_SKIP() << "a small file system can be mounted by root only";
  }
  folder.Write("s.json", Scenario("lose-momentum", R"([
      {"world": [[1, 1]], "faults": [{"kind": "kill.step", "step": "all"}]},
      {"world": [[1, 1]], "faults": [{"kind": "kill.operation", "operation": "all"}]}])"));
  const Finished full = Reprise({"run", "s.json", "--out", "out", "--keep"}, folder.Path());
  EXPECT_EQ(full.status, 3) << full.out << full.err;
  EXPECT_THAT(full.err, AllOf(HasSubstr("No space left"), HasSubstr("run --continue --out out")));
  ASSERT_TRUE(disk.Grow());
  const Finished rest =
      Reprise({"run", "--continue", "--out", "out", "--keep", "--quiet"}, folder.Path());
  EXPECT_EQ(rest.status, 1) << rest.out << rest.err;
  const json report = ReadReport(folder.Path() / "out");
  EXPECT_EQ(report["findings"].size(), 1U) << report["findings"].dump(2);
  EXPECT_GT(report["cases"].size(), 40U);
  for (const json& entry : report["cases"]) {
    EXPECT_THAT(entry["verdict"].get<std::string>(), AnyOf("exact", "diverged")) << entry.dump(2);
  }
}

// The scripts of benchmarks/ that run long by hand, for a few kills.
TEST(ContinueStormTest, AKillOfRepriseAtAnyMomentChangesNoReport) {
  const std::string build = std::filesystem::path(REPRISE_BINARY).parent_path().string();
  const std::string command =
      Source("benchmarks/continue_storm").string() + " --count 4 --build " + build;
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST(InterruptTest, NothingIsLeftAndContinueEndsWithTheUndisturbedReport) {
  const Folder folder;
  const std::string mark = "reprise-interrupt-" + std::to_string(getpid());
  folder.Write("s.json", Scenario("none", kEveryOperation, mark));
  ASSERT_EQ(Reprise({"run", "s.json", "--out", "whole", "--quiet"}, folder.Path()).status, 0);
  const json whole = WithoutTimes(ReadReport(folder.Path() / "whole"));
  for (const int signal : {SIGINT, SIGTERM, SIGKILL}) {
    const std::string out = "cut-" + std::to_string(signal);
    const pid_t pid = StartReprise({"run", "s.json", "--out", out, "--quiet"}, folder.Path());
    AwaitFirstCase(folder.Path() / out / "events.jsonl");
    kill(pid, signal);
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    if (signal != SIGKILL) {
      EXPECT_EQ(WEXITSTATUS(status), 3);
    }
    for (int i = 0; i < 500 && !ProcessesWith("MARK=" + mark).empty(); ++i) {
      usleep(10'000);  // the kernel delivers the workers' and tracees' SIGKILLs
    }
    EXPECT_THAT(ProcessesWith("MARK=" + mark), IsEmpty());
    const Finished rest = Reprise({"run", "--continue", "--out", out, "--quiet"}, folder.Path());
    EXPECT_EQ(rest.status, 0) << rest.out << rest.err;
    EXPECT_EQ(WithoutTimes(ReadReport(folder.Path() / out)), whole);
  }
}

TEST(ListTest, NamesEveryPlugInWithItsParameters) {
  const Folder folder;
  const Finished list = Reprise({"list"}, folder.Path());
  EXPECT_EQ(list.status, 0);
  EXPECT_THAT(list.out, AllOf(HasSubstr("kill.operation"), HasSubstr("sharded-safetensors"),
                              HasSubstr("junit")));
  EXPECT_TRUE(json::parse(Reprise({"list", "--json"}, folder.Path()).out).contains("injectors"));
  EXPECT_TRUE(
      json::parse(Reprise({"list", "--schema"}, folder.Path()).out).contains("definitions"));
}

TEST(DoctorTest, SaysWhatThisMachineAllows) {
  const Folder folder;
  const Finished doctor = Reprise({"doctor"}, folder.Path());
  EXPECT_EQ(doctor.status, 0) << doctor.out;
  EXPECT_THAT(doctor.out, HasSubstr("ptrace"));
}

TEST(UsageTest, WrongOptionsExitWithTwo) {
  const Folder folder;
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{},
                                             {"frobnicate"},
                                             {"run"},
                                             {"run", "none.json"},
                                             {"run", "--jobs", "0", "s.json"},
                                             {"run", "s.json", "--continue"},
                                             {"run", "--continue", "--out", "nowhere"}}) {
    const Finished run = Reprise(arguments, folder.Path());
    EXPECT_EQ(run.status, 2) << ::testing::PrintToString(arguments);
    EXPECT_FALSE(run.err.empty());
  }
}

}  // namespace
}  // namespace reprise::testing
