// Escapes of foreign text, and the words for exit statuses.

#include "reports/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "harness/base/json_fields.h"
#include "reports/sample_report.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;

TEST(EscapeControlsTest, KeepsReadableTextOfAnyLanguage) {
  EXPECT_EQ(EscapeControls("plain, größer, 重み, 🙂"), "plain, größer, 重み, 🙂");
}

TEST(EscapeControlsTest, ShowsControlsDirectionMarksAndNoncharacters) {
  EXPECT_EQ(EscapeControls("a\x1b[2J\r\n\t\x7f"), "a\\x1b[2J\\r\\n\\t\\x7f");
  EXPECT_EQ(EscapeControls("\xc2\x9b"), "\\x9b");
  EXPECT_EQ(EscapeControls("\xe2\x80\xae"), "\\u{202e}");
  EXPECT_EQ(EscapeControls("\xef\xbf\xbf"), "\\u{ffff}");
}

TEST(EscapeControlsTest, ShowsBytesThatAreNotUtf8) {
  EXPECT_EQ(EscapeControls("\xff"), "\\xff");
  EXPECT_EQ(EscapeControls("\xc3"), "\\xc3");                    // cut short
  EXPECT_EQ(EscapeControls("\xc0\x80"), "\\xc0\\x80");           // overlong
  EXPECT_EQ(EscapeControls("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // surrogate
  EXPECT_EQ(EscapeControls("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
}

RC_GTEST_PROP(EscapeControlsProperties, AnyBytesBecomeCleanUtf8, (const std::string& bytes)) {
  const std::string escaped = EscapeControls(bytes);
  for (const char c : escaped) {
    RC_ASSERT(static_cast<unsigned char>(c) >= 0x20);
  }
  RC_ASSERT(EscapeControls(escaped) == escaped);
}

RC_GTEST_PROP(ShortenProperties, NeverCutsInsideACharacter, (const std::string& bytes)) {
  const std::string text = EscapeControls(bytes + "größer 重み 🙂");
  const auto size = *rc::gen::inRange<std::size_t>(0, text.size() + 2);
  const std::string cut = Shorten(text, size);
  RC_ASSERT(cut.size() <= size + std::string_view(" …").size());
  RC_ASSERT(EscapeControls(cut) == cut);
}

TEST(CaseFactsTest, StartWithTheReplayCommand) {
  const auto facts = CaseFacts(SampleReport("").cases[2]);
  EXPECT_EQ(facts[0].first, "replay");
  EXPECT_EQ(facts[0].second, "reprise replay reprise-out/k-0003");
}

TEST(CaseFactsTest, BoundWhatATargetSaid) {
  CaseReport report = SampleReport("").cases[2];
  report.outcome.evidence = std::string(1 << 20, 'x');
  for (const auto& [label, value] : CaseFacts(report)) {
    EXPECT_LT(value.size(), 1000U) << label;
  }
}

TEST(AttentionTest, ACaseThatProvedNothingAndIsNotExpectedIsNoFailure) {
  CaseReport report;
  report.outcome.verdict = Verdict::kNotExercised;
  report.met = false;
  EXPECT_EQ(AttentionOf(report), Attention::kUnproven);
  report.expect.emplace().verdicts = {Verdict::kExact};
  EXPECT_EQ(AttentionOf(report), Attention::kUnmet);
}

TEST(FaultTextTest, NamesTheLifeWhenItIsNotTheFirst) {
  Case the_case = SampleReport("").cases[0].the_case;
  EXPECT_EQ(FaultText(the_case), "kill.operation cut=before operation=0/0/0");
  the_case.faults[0].attempt = 1;
  EXPECT_EQ(FaultText(the_case), "kill.operation attempt=1 cut=before operation=0/0/0");
  the_case.faults.clear();
  EXPECT_EQ(FaultText(the_case), "no fault");
}

TEST(ExitWordsTest, NameTheReasonOfEachStatus) {
  Report report = SampleReport("");
  EXPECT_EQ(ExitWords(report), "exit 1: 2 cases did not end as expected (1 of them a finding)");
  report.exit_status = 3;
  EXPECT_THAT(ExitWords(report), HasSubstr("harness-error"));
  report.exit_status = 4;
  EXPECT_THAT(ExitWords(report), HasSubstr("nothing was judged"));
  EXPECT_EQ(ExitWords(GoodReport()), "exit 0: every case ended as it must");
  Report accepted = GoodReport();
  accepted.cases[0].accepted = true;
  EXPECT_THAT(ExitWords(accepted), HasSubstr("but for 1 case of accepted findings"));
  report.comparison.emplace().earlier = "old";
  EXPECT_EQ(ExitWords(report), "exit 4: no case in common against old");
}

}  // namespace
}  // namespace reprise
