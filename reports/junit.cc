// junit.xml: one test suite per scenario, one test case per case, for CI servers.
//
// GitLab drops test cases with an equal (classname, name) and long ignored the message attribute,
// so names are the stable case ids and the reason stands in the body too; Jenkins needs numeric
// counts and valid XML characters. Cumulative.

#include <fmt/format.h>

#include <algorithm>
#include <pugixml.hpp>
#include <vector>

#include "reports/report_writer.h"
#include "reports/text.h"

namespace reprise {
namespace {

enum class TestResult { kPassed, kFailure, kError, kSkipped };

TestResult ResultOf(const CaseReport& report) {
  switch (AttentionOf(report)) {
    case Attention::kOurError:
      return TestResult::kError;
    case Attention::kUnmet:
      return TestResult::kFailure;
    case Attention::kUnproven:
      return TestResult::kSkipped;
    case Attention::kNone:
    case Attention::kExpected:
    case Attention::kAccepted:
      break;
  }
  return ProvedNothing(report.outcome.verdict) ? TestResult::kSkipped : TestResult::kPassed;
}

struct Counts {
  int tests = 0;
  int failures = 0;
  int errors = 0;
  int skipped = 0;
  double wall_s = 0;

  void Add(const CaseReport& report) {
    const TestResult result = ResultOf(report);
    ++tests;
    failures += result == TestResult::kFailure ? 1 : 0;
    errors += result == TestResult::kError ? 1 : 0;
    skipped += result == TestResult::kSkipped ? 1 : 0;
    wall_s += report.wall_s;
  }
};

void SetText(pugi::xml_node node, const char* name, const std::string& value) {
  node.append_attribute(name).set_value(EscapeControls(value).c_str());
}

void SetCounts(pugi::xml_node node, const Counts& counts) {
  node.append_attribute("tests").set_value(counts.tests);
  node.append_attribute("failures").set_value(counts.failures);
  node.append_attribute("errors").set_value(counts.errors);
  node.append_attribute("skipped").set_value(counts.skipped);
  SetText(node, "time", fmt::format("{:.3f}", counts.wall_s));
}

void AddProperty(pugi::xml_node properties, const char* name, const std::string& value) {
  pugi::xml_node property = properties.append_child("property");
  SetText(property, "name", name);
  SetText(property, "value", value);
}

// One fact a line, the replay command first.
std::string Body(const CaseReport& report) {
  std::string body;
  for (const auto& [label, value] : CaseFacts(report)) {
    body += fmt::format("{}: {}\n", label, value);
  }
  return body;
}

std::string Message(const CaseReport& report) {
  std::string message(ToText(report.outcome.verdict));
  for (const std::string* part : {&report.outcome.cause, &report.outcome.why, &report.unmet_why}) {
    message += part->empty() ? "" : "; " + *part;
  }
  return ForReading(message);
}

void AddReason(pugi::xml_node node, const char* element, const CaseReport& report) {
  pugi::xml_node child = node.append_child(element);
  SetText(child, "message", Message(report));
  SetText(child, "type", std::string(ToText(report.outcome.verdict)));
  child.append_child(pugi::node_pcdata).set_value(Body(report).c_str());
}

void AddSystemOut(pugi::xml_node node, const CaseReport& report) {
  const Attention attention = AttentionOf(report);
  const char* remark = attention == Attention::kExpected
                           ? "This finding is expected by the scenario.\n"
                       : attention == Attention::kAccepted ? "This finding is accepted.\n"
                                                           : "";
  const std::string text = remark + Body(report);
  node.append_child("system-out").append_child(pugi::node_pcdata).set_value(text.c_str());
}

void AddTestCase(pugi::xml_node suite, const CaseReport& report) {
  pugi::xml_node node = suite.append_child("testcase");
  SetText(node, "classname", "reprise." + report.the_case.scenario + "." + report.the_case.target);
  SetText(node, "name", report.the_case.id);
  SetText(node, "time", fmt::format("{:.3f}", report.wall_s));
  switch (ResultOf(report)) {
    case TestResult::kPassed:
      AddSystemOut(node, report);
      break;
    case TestResult::kFailure:
      AddReason(node, "failure", report);
      break;
    case TestResult::kError:
      AddReason(node, "error", report);
      break;
    case TestResult::kSkipped:
      AddReason(node, "skipped", report);
      break;
  }
}

// Scenarios in the order in which their cases first occur.
std::vector<std::string> ScenariosOf(const Report& report) {
  std::vector<std::string> scenarios;
  for (const CaseReport& the_case : report.cases) {
    const std::string& scenario = the_case.the_case.scenario;
    if (std::find(scenarios.begin(), scenarios.end(), scenario) == scenarios.end()) {
      scenarios.push_back(scenario);
    }
  }
  return scenarios;
}

void AddSuite(pugi::xml_node root, const Report& report, const std::string& scenario) {
  Counts counts;
  for (const CaseReport& the_case : report.cases) {
    if (the_case.the_case.scenario == scenario) {
      counts.Add(the_case);
    }
  }
  pugi::xml_node suite = root.append_child("testsuite");
  SetText(suite, "name", scenario);
  SetCounts(suite, counts);
  pugi::xml_node properties = suite.append_child("properties");
  AddProperty(properties, "reprise.version", report.version);
  AddProperty(properties, "reprise.commit", report.commit);
  AddProperty(properties, "reprise.seed", std::to_string(report.seed));
  for (const CaseReport& the_case : report.cases) {
    if (the_case.the_case.scenario == scenario) {
      AddTestCase(suite, the_case);
    }
  }
}

class JunitWriter final : public ReportWriter {
 public:
  explicit JunitWriter(std::ostream& out) : out_(out) {}

  void OnFinished(const Report& report) override {
    Counts counts;
    for (const CaseReport& the_case : report.cases) {
      counts.Add(the_case);
    }
    pugi::xml_document document;
    pugi::xml_node declaration = document.append_child(pugi::node_declaration);
    SetText(declaration, "version", "1.0");
    SetText(declaration, "encoding", "UTF-8");
    pugi::xml_node root = document.append_child("testsuites");
    SetText(root, "name", "reprise");
    SetCounts(root, counts);
    for (const std::string& scenario : ScenariosOf(report)) {
      AddSuite(root, report, scenario);
    }
    document.save(out_, " ", pugi::format_indent, pugi::encoding_utf8);
  }

 private:
  std::ostream& out_;
};

}  // namespace

WriterInfo JunitWriterInfo() {
  return {.name = "junit",
          .help = "test suites for CI servers: failures are findings that nobody expects",
          .file_name = "junit.xml",
          .make = [](std::ostream& out, const WriterOptions&) -> std::unique_ptr<ReportWriter> {
            return std::make_unique<JunitWriter>(out);
          }};
}

}  // namespace reprise
