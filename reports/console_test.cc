// The console writer: when progress is shown, what is told live, colours and quiet.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "reports/matrix.h"
#include "reports/report_writer.h"
#include "reports/sample_report.h"

namespace reprise {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class ConsoleWriterTest : public testing::Test {
 protected:
  std::unique_ptr<ReportWriter> Make(const WriterOptions& options) {
    return FindWriter("console")->make(out_, options);
  }

  std::string Taken() {
    std::string text = out_.str();
    out_.str("");
    return text;
  }

  std::string Finished(const Report& report, const WriterOptions& options) {
    Make(options)->OnFinished(report);
    return Taken();
  }

  static Progress At(int done, int seconds) {
    return {.phase = "cases",
            .done = done,
            .total = 60,
            .findings = 1,
            .elapsed = milliseconds(1000 * seconds)};
  }

  std::ostringstream out_;
};

TEST_F(ConsoleWriterTest, ShowsRateFindingsAndTimeLeft) {
  const auto writer = Make({});
  writer->OnProgress(At(0, 0));
  EXPECT_EQ(Taken(), "cases 0/60  1 unexpected finding\n");
  writer->OnProgress(At(20, 10));
  EXPECT_EQ(Taken(), "cases 20/60  2.0/s  1 unexpected finding  0:20 left\n");
}

TEST_F(ConsoleWriterTest, CountsTheRateFromTheStartOfThePhase) {
  const auto writer = Make({});
  Progress reference = At(0, 0);
  reference.phase = "reference runs";
  writer->OnProgress(reference);
  writer->OnProgress(At(0, 100));
  Taken();
  writer->OnProgress(At(20, 110));
  EXPECT_THAT(Taken(), HasSubstr("2.0/s"));
}

TEST_F(ConsoleWriterTest, PrintsPlainLinesOnlyEveryFewSeconds) {
  const auto writer = Make({});
  writer->OnProgress(At(0, 0));
  Taken();
  writer->OnProgress(At(1, 4));
  EXPECT_THAT(Taken(), IsEmpty());
  writer->OnProgress(At(2, 5));
  EXPECT_EQ(Taken(), "cases 2/60  0.4/s  1 unexpected finding  2:25 left\n");
}

TEST_F(ConsoleWriterTest, PrintsTheFirstAndTheLastLineOfEachPhase) {
  const auto writer = Make({});
  writer->OnProgress({.phase = "uninterrupted runs", .done = 0, .total = 1});
  writer->OnProgress({.phase = "uninterrupted runs", .done = 1, .total = 1});
  writer->OnProgress({.phase = "cases", .done = 0, .total = 9});
  writer->OnProgress({.phase = "cases", .done = 1, .total = 9});
  EXPECT_EQ(Taken(), "uninterrupted runs 0/1\nuninterrupted runs 1/1\ncases 0/9\n");
}

TEST_F(ConsoleWriterTest, RedrawsOneLineOnATerminalAndClearsItBeforeText) {
  const auto writer = Make({.terminal = true});
  writer->OnProgress(At(0, 0));
  writer->OnProgress(At(1, 1));
  const std::string drawn = Taken();
  EXPECT_THAT(drawn, Not(HasSubstr("\n")));
  EXPECT_EQ(std::count(drawn.begin(), drawn.end(), '\r'), 2);
  writer->OnCase(SampleReport("").cases[2]);
  EXPECT_THAT(Taken(), StartsWith("\r\x1b[KFINDING"));
}

TEST_F(ConsoleWriterTest, TellsAFindingOnceInTwoLinesAndAnotherAgain) {
  const auto writer = Make({});
  Report report = SampleReport("");
  writer->OnCase(report.cases[2]);
  const std::string told = Taken();
  EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 2) << told;
  EXPECT_THAT(told, HasSubstr("exp_avg/blocks.0.attn.qkv.weight"));
  writer->OnCase(report.cases[2]);
  EXPECT_THAT(Taken(), IsEmpty());
  report.cases[2].outcome.cause = "rng.torch: not restored";
  writer->OnCase(report.cases[2]);
  EXPECT_THAT(Taken(), HasSubstr("rng.torch"));
}

TEST_F(ConsoleWriterTest, TellsNothingOfACaseThatIsAsItMustBe) {
  const auto writer = Make({});
  writer->OnCase(SampleReport("").cases[0]);
  EXPECT_THAT(Taken(), IsEmpty());
}

TEST_F(ConsoleWriterTest, UsesColoursOnlyWhenAsked) {
  EXPECT_THAT(Finished(SampleReport(""), {.colour = true}), HasSubstr("\x1b[1;31m"));
  EXPECT_THAT(Finished(SampleReport(HostileText()), {}), Not(HasSubstr("\x1b")));
}

TEST_F(ConsoleWriterTest, PutsUnexpectedFindingsFirst) {
  const std::string text = Finished(SampleReport(""), {});
  EXPECT_LT(text.find("1. diverged: the optimizer"), text.find("2. diverged: one bit"));
  EXPECT_LT(text.find("2. diverged: one bit"), text.find("3. silent-restart"));
}

TEST_F(ConsoleWriterTest, SaysNothingWhenQuietAndAllIsWell) {
  EXPECT_THAT(Finished(GoodReport(), {.quiet = true}), IsEmpty());
  EXPECT_THAT(Finished(GoodReport(), {}), HasSubstr("exit 0"));
}

TEST_F(ConsoleWriterTest, KeepsWhatMustBeActedOnWhenQuiet) {
  const std::string text = Finished(SampleReport(""), {.quiet = true});
  EXPECT_THAT(text, HasSubstr("1. diverged"));
  EXPECT_THAT(text, HasSubstr("k-0006  expectation not met"));
  EXPECT_THAT(text, HasSubstr("exit 1"));
  EXPECT_THAT(text, Not(HasSubstr("silent-restart")));
}

TEST_F(ConsoleWriterTest, SaysTheVerdictOfAFindingOnceAndNothingTwice) {
  Report report = SampleReport("");
  report.cases[2].outcome.evidence = report.cases[2].outcome.divergence->detail;
  report.findings[1].why = report.cases[2].outcome.evidence;
  const std::string text = Finished(report, {});
  const std::size_t end = text.find("2. diverged");
  const std::string finding = text.substr(0, end);
  EXPECT_THAT(finding, Not(HasSubstr("evidence")));
  EXPECT_EQ(finding.find("before the first forward"), finding.rfind("before the first forward"));
  EXPECT_EQ(finding.find("diverged:"), finding.rfind("diverged:"));
}

TEST(MatrixTest, MarksEveryVerdictDifferently) {
  std::string marks;
  for (const Verdict verdict : AllVerdicts()) {
    EXPECT_EQ(marks.find(MarkOf(verdict)), std::string::npos) << ToText(verdict);
    marks += MarkOf(verdict);
  }
}

TEST(MatrixTest, ShowsTheWorstVerdictOfACell) {
  Report report = SampleReport("");
  report.cases.resize(3);  // exact at 1>1; exact-fallback and diverged at 2>1
  EXPECT_EQ(MatrixText(report),
            "  fault \\ world  1>1 2>1  cases\n"
            "  kill.operation  =   D       3\n"
            "  worst in each cell:  = exact  D diverged\n");
  std::swap(report.cases[1], report.cases[2]);
  EXPECT_THAT(MatrixText(report), HasSubstr(" =   D  "));
}

}  // namespace
}  // namespace reprise
