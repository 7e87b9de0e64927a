// What every writer of writers.inc must keep, and the golden files.
//
// `reports_test --update-golden` rewrites golden/; read the difference before you commit it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <pugixml.hpp>
#include <set>
#include <sstream>

#include "harness/base/files.h"
#include "harness/base/json_fields.h"
#include "reports/report_writer.h"
#include "reports/sample_report.h"
#include "reports/text.h"

namespace reprise {

void PrintTo(const WriterInfo& info, std::ostream* out) { *out << info.name; }

namespace {

using ::testing::HasSubstr;

bool update_golden = false;

std::string Write(const WriterInfo& info, const Report& report, const WriterOptions& options = {}) {
  std::ostringstream out;
  const auto writer = info.make(out, options);
  for (std::size_t i = 0; i < report.cases.size(); ++i) {
    writer->OnProgress({.phase = "cases",
                        .done = static_cast<int>(i),
                        .total = static_cast<int>(report.cases.size()),
                        .findings = 0,
                        .elapsed = std::chrono::milliseconds(3000 * i)});
    writer->OnCase(report.cases[i]);
  }
  writer->OnFinished(report);
  return out.str();
}

std::string Write(const char* name, const Report& report) {
  return Write(*FindWriter(name), report);
}

class WriterTest : public testing::TestWithParam<WriterInfo> {};

INSTANTIATE_TEST_SUITE_P(All, WriterTest, testing::ValuesIn(AllWriters()),
                         [](const auto& writer) { return writer.param.name; });

TEST_P(WriterTest, EqualsItsGoldenFile) {
  const std::filesystem::path path =
      std::filesystem::path(REPRISE_GOLDEN_FOLDER) / (GetParam().name + ".txt");
  const std::string written = Write(GetParam(), SampleReport(""));
  if (update_golden) {
    ASSERT_TRUE(WriteFileAtomically(path, written));
  }
  const Result<std::string> golden = ReadFile(path, 1 << 20);
  ASSERT_TRUE(golden) << golden.error().ToString();
  EXPECT_EQ(written, *golden) << "after a wanted change: reports_test --update-golden";
}

TEST_P(WriterTest, WritesEqualReportsAsEqualBytesAndOthersAsOthers) {
  const std::string once = Write(GetParam(), SampleReport(""));
  EXPECT_EQ(once, Write(GetParam(), SampleReport("")));
  Report other = SampleReport("");
  other.cases[2].outcome.divergence->step = 21;
  EXPECT_NE(once, Write(GetParam(), other));
}

TEST_P(WriterTest, LetsNoControlByteOfATargetThrough) {
  const std::string written = Write(GetParam(), SampleReport(HostileText()));
  for (const char c : written) {
    const auto byte = static_cast<unsigned char>(c);
    ASSERT_TRUE(byte >= 0x20 || byte == '\n') << "byte " << int{byte};
  }
  EXPECT_NO_THROW(static_cast<void>(Json(written).dump())) << "not UTF-8";
}

TEST_P(WriterTest, GivesTheReplayCommandOfEveryCaseThatMustBeActedOn) {
  const std::string written = Write(GetParam(), SampleReport(""));
  for (const CaseReport& report : SampleReport("").cases) {
    if (!report.met) {
      EXPECT_THAT(written, HasSubstr(report.replay));
    }
  }
}

TEST_P(WriterTest, ShowsRegressionsBeforeEverythingElseThatChanged) {
  Report report = SampleReport("");
  if (GetParam().name == "junit") {
    return;  // its cases are pass or fail by themselves
  }
  report.comparison = Comparison{.earlier = "earlier-run",
                                 .regressions = {{"f1", "exact", "hung", {"k-1"}, "replay-k-1"}},
                                 .fixed = {{"f2", "crashed", "exact", {"k-2"}, "replay-k-2"}},
                                 .changed = {{"f3", "short", "hung", {"k-3"}, "replay-k-3"}},
                                 .gone = {"k-4"},
                                 .shared_count = 9,
                                 .same_count = 6};
  const std::string written = Write(GetParam(), report);
  EXPECT_THAT(written, HasSubstr("replay-k-1"));
  EXPECT_LT(written.find("replay-k-1"), written.find("replay-k-2"));
  EXPECT_LT(written.find("replay-k-2") + 1, written.find("replay-k-3") + 2);
}

TEST_P(WriterTest, WritesAReportWithoutCases) {
  Report empty;
  empty.exit_status = 4;
  EXPECT_FALSE(Write(GetParam(), empty).empty());
}

TEST(WritersTest, HaveDifferentNamesAndHelp) {
  std::set<std::string> names;
  for (const WriterInfo& info : AllWriters()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_FALSE(info.help.empty()) << info.name;
    EXPECT_EQ(FindWriter(info.name)->name, info.name);
  }
  EXPECT_EQ(FindWriter("no such writer"), nullptr);
}

Json Parsed(const Report& report) {
  Result<Json> json = ParseJson(Write("json", report), "report.json");
  EXPECT_TRUE(json) << json.error().ToString();
  return json ? *json : Json();
}

std::set<std::string> Fields(const Json& object) {
  std::set<std::string> fields;
  for (const auto& [name, value] : object.items()) {
    fields.insert(name);
  }
  return fields;
}

TEST(JsonWriterTest, HasEveryFieldOfTheContract) {
  const Json json = Parsed(SampleReport(""));
  EXPECT_THAT(Fields(json), testing::IsSupersetOf({"schema", "tool", "seed", "targets", "cases",
                                                   "findings", "summary", "exit"}));
  EXPECT_THAT(Fields(json["targets"][0]),
              testing::IsSupersetOf({"id", "command", "depth", "blind_spots", "versions",
                                     "calibration", "coverage"}));
  EXPECT_THAT(Fields(json["cases"][2]),
              testing::IsSupersetOf({"id",         "target",       "fault",         "world",
                                     "restarts",   "save_mode",    "model",         "states",
                                     "window",     "verdict",      "restored_step", "expected_step",
                                     "lost_steps", "recovery_s",   "divergence",    "cause",
                                     "proven",     "consequences", "expect",        "replay"}));
  EXPECT_THAT(Fields(json["cases"][2]["divergence"]),
              testing::UnorderedElementsAre("layer", "step", "rank", "name", "expected", "actual",
                                            "detail"));
  EXPECT_THAT(Fields(json["findings"][0]),
              testing::IsSupersetOf({"fingerprint", "cause", "proven", "verdict", "title", "cases",
                                     "why", "first", "accepted"}));
}

TEST(JsonWriterTest, HasACellForEachKindOfFaultAndWorldAndTheRateOfSilentAcceptance) {
  const Json json = Parsed(SampleReport(""));
  ASSERT_EQ(json["cells"].size(), 7U);
  EXPECT_EQ(json["cells"][1]["cases"], 2);
  EXPECT_EQ(json["cells"][1]["verdict"], "diverged");
  EXPECT_TRUE(json["cells"][1]["damage"].is_null());
  EXPECT_EQ(json["cells"][2]["faults"], Json::array({"kill.operation", "damage.flip"}));
  EXPECT_EQ(json["cells"][2]["damage"]["loaded_changed"], 1);
  EXPECT_EQ(json["damage"]["judged"], 2);
  EXPECT_EQ(json["damage"]["silent_acceptance"]["rate"], 0.5);
  EXPECT_EQ(json["findings"][2]["accepted"]["date"], "2026-11-30");
}

TEST(JsonWriterTest, NamesTheModelAfterTheLastFault) {
  const Json json = Parsed(SampleReport(""));
  EXPECT_EQ(json["cases"][2]["model"], "live");
  EXPECT_EQ(json["cases"][4]["model"], "damage");
  EXPECT_EQ(json["cases"][4]["fault"]["kind"], "damage.truncate");
  EXPECT_EQ(json["cases"][4]["faults"].size(), 2U);
}

TEST(JsonWriterTest, SummarisesWithACountForEveryVerdict) {
  const Json json = Parsed(SampleReport(""));
  EXPECT_EQ(json["summary"].size(), AllVerdicts().size());
  EXPECT_EQ(json["summary"]["diverged"], 2);
  EXPECT_EQ(json["summary"]["hung"], 0);
}

TEST(JunitWriterTest, SortsCasesIntoFailureErrorSkippedAndPassed) {
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(Write("junit", SampleReport(HostileText())).c_str()));
  const pugi::xml_node suite = document.child("testsuites").child("testsuite");
  EXPECT_EQ(suite.attribute("tests").as_int(), 8);
  EXPECT_EQ(suite.attribute("failures").as_int(), 2);
  EXPECT_EQ(suite.attribute("errors").as_int(), 1);
  EXPECT_EQ(suite.attribute("skipped").as_int(), 1);
  const auto element = [&suite](const char* id) -> std::string {
    return suite.find_child_by_attribute("testcase", "name", id).first_child().name();
  };
  EXPECT_EQ(element("k-0001"), "system-out");
  EXPECT_EQ(element("k-0003"), "failure");
  EXPECT_EQ(element("d-0004"), "system-out");
  EXPECT_EQ(element("d-0005"), "system-out");
  EXPECT_EQ(element("k-0006"), "failure");
  EXPECT_EQ(element("k-0007"), "skipped");
  EXPECT_EQ(element("k-0008"), "error");
}

TEST(JunitWriterTest, RepeatsTheReasonInTheBodyAfterTheReplayCommand) {
  pugi::xml_document document;
  ASSERT_TRUE(document.load_string(Write("junit", SampleReport("")).c_str()));
  const pugi::xml_node suite = document.child("testsuites").child("testsuite");
  const std::string body =
      suite.find_child_by_attribute("testcase", "name", "k-0003").child_value("failure");
  EXPECT_EQ(body.rfind("replay: reprise replay reprise-out/k-0003\n", 0), 0U) << body;
  EXPECT_THAT(body, HasSubstr("cause: optimizer.moments: in file, never applied\n"));
  const std::string expected =
      suite.find_child_by_attribute("testcase", "name", "d-0005").child_value("system-out");
  EXPECT_THAT(expected, HasSubstr("This finding is expected"));
}

// A huge report of long, hostile texts.
Report HugeReport() {
  Report report = SampleReport(HostileText());
  const CaseReport worst = report.cases[2];
  for (int i = 0; i < 3'000; ++i) {
    CaseReport item = worst;
    item.the_case.id = "k-" + std::to_string(i) + "|`" + std::string(300, '`');
    item.the_case.world = {1, i};
    item.outcome.verdict = i % 2 == 0 ? Verdict::kDiverged : Verdict::kExact;
    report.findings.push_back(report.findings[1]);
    report.findings.back().cases = {item.the_case.id};
    report.cases.push_back(std::move(item));
  }
  return report;
}

TEST(MarkdownWriterTest, StaysBelowOneMebibyteAndSaysWhatIsLeftOut) {
  const std::string written = Write("markdown", HugeReport());
  EXPECT_LT(written.size(), std::size_t{1} << 20);
  EXPECT_GT(written.size(), std::size_t{1} << 19);
  EXPECT_THAT(written, HasSubstr("would not fit; report.json has all."));
}

TEST(MarkdownWriterTest, TextOfATargetMakesNoMarkup) {
  Report report = SampleReport("");
  report.findings[1].title = "# <b>x</b> [l](u) `c` | *s*";
  report.cases[2].the_case.id = "k|`x";
  report.findings[1].cases = {"k|`x"};
  const std::string written = Write("markdown", report);
  EXPECT_THAT(written, HasSubstr("\\# \\<b\\>x\\</b\\> \\[l\\](u) \\`c\\` \\| \\*s\\*\n"));
  EXPECT_THAT(written, HasSubstr("`` k|`x ``"));
}

TEST(GithubWriterTest, EscapesWhatTheRunnerWouldTakeForItsOwn) {
  Report report = SampleReport("");
  report.findings[1].title = "100%\n::error::x,y:z";
  const std::string written = Write("github", report);
  EXPECT_THAT(written, HasSubstr("::100%25\\n::error::x,y:z ("));
  EXPECT_THAT(written, HasSubstr("title=reprise%3A diverged%2C accepted::"));
  EXPECT_EQ(written.find("\n::error::"), std::string::npos);
}

TEST(GithubWriterTest, PrintsAtMostTenOfALevelAndCountsTheRest) {
  const std::string written = Write("github", HugeReport());
  std::size_t errors = 0;
  for (std::size_t at = written.find("::error "); at != std::string::npos;
       at = written.find("::error ", at + 1)) {
    ++errors;
  }
  EXPECT_EQ(errors, 10U);
  EXPECT_THAT(written, HasSubstr("more, see the report\n"));
}

}  // namespace
}  // namespace reprise

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  reprise::update_golden = argc > 1 && std::string_view(argv[1]) == "--update-golden";
  return RUN_ALL_TESTS();
}
