#include "harness/judge/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

CaseReport MakeCase(std::string id, Verdict verdict, std::string cause = {}) {
  CaseReport item;
  item.the_case.id = std::move(id);
  item.the_case.faults = {{"kill.step", 0, {{"step", "9"}}}};
  item.the_case.world = {2, 1};
  item.outcome.verdict = verdict;
  item.outcome.cause = std::move(cause);
  if (IsFinding(verdict)) {
    item.outcome.divergence = Divergence{Layer::kD1, 8, -1, "exp_avg/mlp", "a", "b", {}};
  }
  return item;
}

Expectation Expect(Verdict verdict) {
  Expectation expect;
  expect.verdicts = {verdict};
  return expect;
}

Report Summarised(std::vector<CaseReport> cases) {
  Report report;
  report.cases = std::move(cases);
  Summarise(&report);
  return report;
}

TEST(FindingsTest, CasesOfOneCauseAreOneFindingTheSimplestFirst) {
  CaseReport simple = MakeCase("b", Verdict::kDiverged, "scheduler: not restored");
  simple.the_case.world = {1, 1};
  simple.outcome.divergence->step = 4;
  const Report report = Summarised({MakeCase("a", Verdict::kDiverged, "scheduler: not restored"),
                                    simple, MakeCase("c", Verdict::kExact),
                                    MakeCase("d", Verdict::kDiverged, "ema: counter")});
  ASSERT_EQ(report.findings.size(), 2U);
  EXPECT_THAT(report.findings[0].cases, ElementsAre("b", "a"));
  EXPECT_THAT(report.findings[0].title, HasSubstr("scheduler: not restored"));
  EXPECT_NE(report.findings[0].fingerprint, report.findings[1].fingerprint);
  EXPECT_EQ(report.summary.at("diverged"), 3);
  EXPECT_EQ(report.summary.at("exact"), 1);
}

TEST(FindingsTest, AFingerprintHoldsNoNumber) {
  CaseReport early = MakeCase("a", Verdict::kDiverged);
  CaseReport late = MakeCase("b", Verdict::kDiverged);
  early.outcome.divergence->name = "exp_avg/blocks.0";
  late.outcome.divergence->name = "exp_avg/blocks.3";
  late.outcome.divergence->step = 40;
  late.the_case.faults[0].params["step"] = "41";
  EXPECT_EQ(Summarised({early, late}).findings.size(), 1U);
  late.the_case.faults[0].kind = "kill.operation";
  EXPECT_EQ(Summarised({early, late}).findings.size(), 2U);
}

TEST(FindingsTest, ExitStatusIsOneForAnUnexpectedFinding) {
  EXPECT_EQ(Summarised({MakeCase("a", Verdict::kExact)}).exit_status, 0);
  EXPECT_EQ(Summarised({MakeCase("a", Verdict::kExact), MakeCase("b", Verdict::kHung)}).exit_status,
            1);
}

TEST(FindingsTest, ExitStatusIsOneForAnExpectedFindingThatIsMissing) {
  CaseReport item = MakeCase("a", Verdict::kDiverged);
  item.expect = Expect(Verdict::kDiverged);
  EXPECT_EQ(Summarised({item}).exit_status, 0);
  EXPECT_TRUE(Summarised({item}).findings[0].expected);
  for (const Verdict verdict : {Verdict::kExact, Verdict::kNotExercised, Verdict::kCannotJudge}) {
    item.outcome.verdict = verdict;
    EXPECT_EQ(Summarised({item}).exit_status, 1) << ToText(verdict);
  }
}

TEST(FindingsTest, ExitStatusIsThreeForAnErrorOfOurs) {
  EXPECT_EQ(Summarised({MakeCase("a", Verdict::kExact), MakeCase("b", Verdict::kHarnessError)})
                .exit_status,
            3);
  EXPECT_EQ(Summarised({MakeCase("a", Verdict::kHung), MakeCase("b", Verdict::kHarnessError)})
                .exit_status,
            1);
}

TEST(FindingsTest, ExitStatusIsFourWhenNothingWasProved) {
  EXPECT_EQ(Summarised({}).exit_status, 4);
  EXPECT_EQ(Summarised({MakeCase("a", Verdict::kCannotJudge)}).exit_status, 4);
  EXPECT_EQ(Summarised({MakeCase("a", Verdict::kExact), MakeCase("b", Verdict::kNotExercised)})
                .exit_status,
            4);
}

TEST(FindingsTest, AnExpectationIsMetOnlyInAllItsParts) {
  Outcome outcome = MakeCase("a", Verdict::kDiverged, "ema: counter").outcome;
  Expectation expect = Expect(Verdict::kDiverged);
  expect.cause = "ema: counter";
  expect.layer = Layer::kD1;
  expect.step = 8;
  expect.name = "exp_avg/mlp";
  std::string why;
  EXPECT_TRUE(MeetsExpectation(outcome, expect, &why)) << why;
  const auto unmet = [&](const Expectation& changed) {
    why.clear();
    return !MeetsExpectation(outcome, changed, &why) && !why.empty();
  };
  Expectation changed = expect;
  changed.verdicts = {Verdict::kHung};
  EXPECT_TRUE(unmet(changed));
  changed = expect;
  changed.cause = "ema: not restored";
  EXPECT_TRUE(unmet(changed));
  changed = expect;
  changed.layer = Layer::kD2;
  EXPECT_TRUE(unmet(changed));
  changed = expect;
  changed.step = 9;
  EXPECT_TRUE(unmet(changed));
  changed = expect;
  changed.name = "loss";
  EXPECT_TRUE(unmet(changed));
  outcome.divergence.reset();
  EXPECT_TRUE(unmet(expect));
}

TEST(FindingsTest, AnExpectedFindingOfAnotherKindIsNotMarkedExpected) {
  CaseReport item = MakeCase("a", Verdict::kHung);
  item.expect = Expect(Verdict::kDiverged);
  const Report report = Summarised({item});
  EXPECT_FALSE(report.findings[0].expected);
  EXPECT_EQ(report.exit_status, 1);
  EXPECT_THAT(report.cases[0].unmet_why, HasSubstr("expected diverged, got hung"));
}

TEST(FindingsTest, AFingerprintBelongsToItsTarget) {
  CaseReport here = MakeCase("a", Verdict::kDiverged, "ema: counter");
  CaseReport there = MakeCase("b", Verdict::kDiverged, "ema: counter");
  here.the_case.target = "gpt";
  there.the_case.target = "cnn";
  const Report report = Summarised({here, there});
  ASSERT_EQ(report.findings.size(), 2U);
  EXPECT_NE(report.findings[0].fingerprint, report.findings[1].fingerprint);
}

TEST(FindingsTest, ATitleDoesNotRepeatTheVerdict) {
  for (const char* cause : {"", "ema: counter"}) {
    const Report report = Summarised({MakeCase("a", Verdict::kDiverged, cause)});
    EXPECT_EQ(report.findings[0].title.find("diverged"), std::string::npos);
    EXPECT_THAT(report.findings[0].title, HasSubstr("(kill.step)"));
  }
}

TEST(AcceptTest, AnAcceptedFindingDoesNotFailAndIsMarked) {
  Report report = Summarised({MakeCase("a", Verdict::kDiverged, "ema: counter"),
                              MakeCase("b", Verdict::kExact), MakeCase("c", Verdict::kHung)});
  const std::string fingerprint = report.findings[0].fingerprint;
  Accept({{fingerprint, "known", "2026-11-30"}}, &report);
  EXPECT_EQ(report.findings[0].accepted->reason, "known");
  EXPECT_TRUE(report.cases[0].accepted);
  EXPECT_FALSE(report.cases[2].accepted);
  EXPECT_EQ(report.exit_status, 1) << "the other one still fails";
  Accept(
      {{fingerprint, "known", "2026-11-30"}, {report.findings[1].fingerprint, "too", "2026-11-30"}},
      &report);
  EXPECT_EQ(report.exit_status, 0);
  EXPECT_THAT(report.notes, ElementsAre());
}

TEST(AcceptTest, EntriesThatFitNothingAreSaidAndDoNotFail) {
  CaseReport expected = MakeCase("a", Verdict::kDiverged);
  expected.expect = Expect(Verdict::kDiverged);
  Report report = Summarised({expected});
  Accept(
      {{"no-such", "old", "2026-01-01"}, {report.findings[0].fingerprint, "why not", "2026-01-02"}},
      &report);
  EXPECT_EQ(report.exit_status, 0);
  EXPECT_THAT(report.notes, ElementsAre(HasSubstr("no-such was not seen: old (2026-01-01)"),
                                        HasSubstr("expected by its scenario")));
}

TEST(AcceptTest, AMissingExpectedFindingStillFails) {
  CaseReport item = MakeCase("a", Verdict::kHung);
  item.expect = Expect(Verdict::kDiverged);
  Report report = Summarised({item});
  Accept({{report.findings[0].fingerprint, "known", "2026-11-30"}}, &report);
  EXPECT_EQ(report.exit_status, 1);
}

TEST(CompareTest, WhatWasRightAndIsNotHasRegressed) {
  const Report earlier =
      Summarised({MakeCase("a", Verdict::kExact), MakeCase("b", Verdict::kExact),
                  MakeCase("c", Verdict::kHung), MakeCase("d", Verdict::kExact),
                  MakeCase("e", Verdict::kCannotJudge), MakeCase("f", Verdict::kExact)});
  const Report later =
      Summarised({MakeCase("a", Verdict::kExact), MakeCase("b", Verdict::kDiverged, "ema: counter"),
                  MakeCase("c", Verdict::kExact), MakeCase("d", Verdict::kCannotJudge),
                  MakeCase("e", Verdict::kExact), MakeCase("g", Verdict::kExact)});
  const Comparison comparison = CompareReports(earlier, later);
  ASSERT_EQ(comparison.regressions.size(), 2U);
  EXPECT_EQ(comparison.regressions[0].before, "exact");
  EXPECT_EQ(comparison.regressions[0].after, "diverged: ema: counter");
  EXPECT_EQ(comparison.regressions[0].fingerprint, later.findings[0].fingerprint);
  EXPECT_THAT(comparison.regressions[1].cases, ElementsAre("d"));
  ASSERT_EQ(comparison.fixed.size(), 1U);
  EXPECT_EQ(comparison.fixed[0].fingerprint, earlier.findings[0].fingerprint);
  ASSERT_EQ(comparison.changed.size(), 1U);
  EXPECT_THAT(comparison.changed[0].cases, ElementsAre("e"));
  EXPECT_THAT(comparison.gone, ElementsAre("f"));
  EXPECT_EQ(comparison.shared_count, 5);
  EXPECT_EQ(comparison.same_count, 1);
  EXPECT_EQ(ExitStatusOf(comparison), 1);
}

TEST(CompareTest, ANewCaseRegressesOnlyWithAFindingThatWasNotKnown) {
  const Report earlier = Summarised({MakeCase("a", Verdict::kDiverged, "ema: counter")});
  const Report known = Summarised({MakeCase("a", Verdict::kDiverged, "ema: counter"),
                                   MakeCase("b", Verdict::kDiverged, "ema: counter")});
  EXPECT_EQ(ExitStatusOf(CompareReports(earlier, known)), 0);
  EXPECT_EQ(CompareReports(earlier, known).changed.size(), 1U);
  const Report unknown = Summarised({MakeCase("a", Verdict::kDiverged, "ema: counter"),
                                     MakeCase("b", Verdict::kDiverged, "rng.torch: not restored")});
  EXPECT_EQ(ExitStatusOf(CompareReports(earlier, unknown)), 1);
}

TEST(CompareTest, CasesThatMovedAlikeAreOneChange) {
  const Report earlier =
      Summarised({MakeCase("a", Verdict::kExact), MakeCase("b", Verdict::kExact)});
  const Report later = Summarised({MakeCase("a", Verdict::kHung), MakeCase("b", Verdict::kHung)});
  const Comparison comparison = CompareReports(earlier, later);
  ASSERT_EQ(comparison.regressions.size(), 1U);
  EXPECT_THAT(comparison.regressions[0].cases, ElementsAre("a", "b"));
}

TEST(CompareTest, AcceptedFindingsDoNotRegressAndNothingInCommonProvesNothing) {
  const Report earlier = Summarised({MakeCase("a", Verdict::kExact)});
  Report later = Summarised({MakeCase("a", Verdict::kHung)});
  Accept({{later.findings[0].fingerprint, "known", "2026-11-30"}}, &later);
  EXPECT_EQ(ExitStatusOf(CompareReports(earlier, later)), 0);
  EXPECT_EQ(CompareReports(earlier, later).changed.size(), 1U);
  EXPECT_EQ(ExitStatusOf(CompareReports(earlier, Summarised({MakeCase("z", Verdict::kExact)}))), 4);
}

}  // namespace
}  // namespace reprise
