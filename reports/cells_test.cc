// Cells, damage counts and the interval of the silent-acceptance rate.

#include "reports/cells.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/sample_report.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;

CaseReport Damaged(Verdict verdict, double recovery_s = 0, std::int64_t lost_steps = 0) {
  CaseReport report;
  report.the_case.target = "t";
  report.the_case.faults = {{.kind = "kill.step"}, {.kind = "damage.flip"}};
  report.the_case.world = {2, 1};
  report.outcome.verdict = verdict;
  report.outcome.restored_step = verdict == Verdict::kRefused ? -1 : 4;
  report.outcome.recovery_s = recovery_s;
  report.outcome.lost_steps = lost_steps;
  return report;
}

// Values of the score interval for 95 %, as statistical software gives them.
TEST(WilsonIntervalTest, HasThePublishedValues) {
  EXPECT_NEAR(WilsonInterval(0, 10).low, 0, 1e-12);
  EXPECT_NEAR(WilsonInterval(0, 10).high, 0.2775328, 1e-6);
  EXPECT_NEAR(WilsonInterval(5, 10).low, 0.2365931, 1e-6);
  EXPECT_NEAR(WilsonInterval(5, 10).high, 0.7634069, 1e-6);
  EXPECT_NEAR(WilsonInterval(10, 10).high, 1, 1e-12);
  EXPECT_EQ(WilsonInterval(0, 0).low, 0);
  EXPECT_EQ(WilsonInterval(0, 0).high, 1);
}

TEST(DamageCountsTest, EveryVerdictOfAJudgedCaseCountsOnce) {
  for (const Verdict verdict : AllVerdicts()) {
    DamageCounts counts;
    counts.Add(Damaged(verdict));
    const bool is_judged = !ProvedNothing(verdict) && verdict != Verdict::kHarnessError;
    EXPECT_EQ(counts.Judged(), is_judged ? 1 : 0) << ToText(verdict);
  }
}

TEST(DamageCountsTest, OnlyAChangedRunIsSilentAcceptance) {
  Report report;
  for (const Verdict verdict : {Verdict::kExact, Verdict::kExactFallback, Verdict::kRefused,
                                Verdict::kDiverged, Verdict::kSilentRestart}) {
    report.cases.push_back(Damaged(verdict));
  }
  CaseReport killed = Damaged(Verdict::kDiverged);
  killed.the_case.faults.pop_back();
  report.cases.push_back(killed);
  EXPECT_EQ(DamageText(DamageOf(report)),
            "damage: 5 judged: 1 refused, 1 fell back, 1 loaded and exact, 1 loaded and changed, "
            "1 otherwise; silent acceptance 20.0 % (95 % interval 3.6 to 62.4 %)");
  EXPECT_EQ(DamageText({}), "");
}

TEST(CellsTest, JoinCasesOfOneKindOfFaultWorldAndSaveMode) {
  Report report;
  report.cases = {Damaged(Verdict::kExactFallback, 0.5, 4), Damaged(Verdict::kRefused),
                  Damaged(Verdict::kExact, 0.25, 2)};
  report.cases.push_back(report.cases.front());
  report.cases.back().the_case.save_mode = "async";
  const std::vector<Cell> cells = CellsOf(report);
  ASSERT_EQ(cells.size(), 2U);
  EXPECT_THAT(cells[0].faults, ElementsAre("kill.step", "damage.flip"));
  EXPECT_EQ(cells[0].worst, Verdict::kRefused);
  EXPECT_EQ(cells[0].verdicts.size(), 3U);
  EXPECT_THAT(cells[0].lost_steps, ElementsAre(2, 4));
  EXPECT_THAT(cells[0].recovery_s, ElementsAre(0.25, 0.5));
  EXPECT_EQ(cells[0].damage.Judged(), 3);
  EXPECT_EQ(cells[1].save_mode, "async");
}

TEST(CellsTest, HoldEveryCaseOfTheSampleOnce) {
  const Report report = SampleReport("");
  int count = 0;
  for (const Cell& cell : CellsOf(report)) {
    for (const auto& [verdict, cases] : cell.verdicts) {
      count += cases;
    }
  }
  EXPECT_EQ(count, static_cast<int>(report.cases.size()));
}

}  // namespace
}  // namespace reprise
