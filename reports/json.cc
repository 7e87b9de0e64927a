// report.json: the report for programs. Every field is described in docs/report.md.
//
// Cumulative; the order of cases and findings is that of the report, so equal reports are equal
// bytes.

#include <set>
#include <utility>

#include "harness/base/json_fields.h"
#include "reports/cells.h"
#include "reports/report_writer.h"

namespace reprise {
namespace {

OrderedJson TextOrNull(const std::string& text) {
  return text.empty() ? OrderedJson(nullptr) : OrderedJson(text);
}

OrderedJson StepOrNull(std::int64_t step) {
  return step < 0 ? OrderedJson(nullptr) : OrderedJson(step);
}

OrderedJson DivergenceJson(const std::optional<Divergence>& divergence) {
  if (!divergence) {
    return nullptr;
  }
  return {{"layer", ToText(divergence->layer)},   {"step", divergence->step},
          {"rank", StepOrNull(divergence->rank)}, {"name", divergence->name},
          {"expected", divergence->expected},     {"actual", divergence->actual},
          {"detail", divergence->detail}};
}

OrderedJson TargetJson(const TargetReport& report) {
  const Calibration& calibration = report.calibration;
  return {{"id", report.target.id},
          {"command", report.target.command},
          {"format", TextOrNull(report.target.format)},
          {"steps", report.target.steps},
          {"depth", report.depth},
          {"blind_spots", report.blind_spots},
          {"versions", report.versions},
          {"calibration",
           {{"deterministic",
             calibration.observed ? OrderedJson(calibration.deterministic) : OrderedJson(nullptr)},
            {"first_difference", DivergenceJson(calibration.first_difference)},
            {"noise", TextOrNull(calibration.noise)}}},
          {"coverage", {{"exercised", report.exercised}, {"not_exercised", report.not_exercised}}}};
}

OrderedJson FaultJson(const Fault& fault) {
  return {{"kind", fault.kind}, {"attempt", fault.attempt}, {"params", fault.params}};
}

OrderedJson ExpectJson(const std::optional<Expectation>& expect) {
  if (!expect) {
    return nullptr;
  }
  OrderedJson verdicts = OrderedJson::array();
  for (const Verdict verdict : expect->verdicts) {
    verdicts.push_back(ToText(verdict));
  }
  return {{"verdicts", std::move(verdicts)},
          {"cause", TextOrNull(expect->cause)},
          {"layer", expect->layer ? OrderedJson(ToText(*expect->layer)) : OrderedJson(nullptr)},
          {"step", expect->step ? OrderedJson(*expect->step) : OrderedJson(nullptr)},
          {"name", TextOrNull(expect->name)}};
}

// The fault that decides what the restart finds; kind "none" where there is none.
OrderedJson DecidingFaultJson(const Case& the_case) {
  if (the_case.faults.empty()) {
    Fault none;
    none.kind = "none";
    return FaultJson(none);
  }
  return FaultJson(the_case.faults.back());
}

OrderedJson CaseJson(const CaseReport& report, bool proven) {
  const Case& the_case = report.the_case;
  const Outcome& outcome = report.outcome;
  OrderedJson faults = OrderedJson::array();
  for (const Fault& fault : the_case.faults) {
    faults.push_back(FaultJson(fault));
  }
  return {{"id", the_case.id},
          {"replay", report.replay},
          {"scenario", the_case.scenario},
          {"target", the_case.target},
          {"fault", DecidingFaultJson(the_case)},
          {"faults", std::move(faults)},
          {"world", the_case.world},
          {"fired", report.fired},
          {"reference_world", the_case.reference_world},
          {"restarts", the_case.world.empty() ? 0 : the_case.world.size() - 1},
          {"save_mode", the_case.save_mode},
          // A folder as a kill leaves it, or one that was damaged after it.
          {"model", EndsWithDamage(the_case) ? "damage" : "live"},
          {"states", 1},
          {"window", nullptr},
          {"verdict", ToText(outcome.verdict)},
          {"why", outcome.why},
          {"restored_step", StepOrNull(outcome.restored_step)},
          {"expected_step", StepOrNull(outcome.expected_step)},
          {"lost_steps", outcome.lost_steps},
          {"recovery_s", outcome.recovery_s},
          {"announced", outcome.announced},
          {"divergence", DivergenceJson(outcome.divergence)},
          {"cause", TextOrNull(outcome.cause)},
          {"evidence", TextOrNull(outcome.evidence)},
          {"proven", proven},
          {"consequences", outcome.consequences},
          {"expect", ExpectJson(report.expect)},
          {"met", report.met},
          {"unmet_why", TextOrNull(report.unmet_why)},
          {"accepted", report.accepted},
          {"confirmation", TextOrNull(report.confirmation)},
          {"wall_s", report.wall_s}};
}

OrderedJson AcceptedJson(const std::optional<Acceptance>& accepted) {
  if (!accepted) {
    return nullptr;
  }
  return {{"reason", accepted->reason}, {"date", accepted->date}};
}

OrderedJson FindingJson(const Finding& finding) {
  return {{"fingerprint", finding.fingerprint},
          {"cause", TextOrNull(finding.cause)},
          {"proven", finding.proven},
          {"verdict", ToText(finding.verdict)},
          {"title", finding.title},
          {"cases", finding.cases},
          {"why", finding.why},
          {"first", finding.cases.empty() ? OrderedJson(nullptr) : OrderedJson(finding.cases[0])},
          {"expected", finding.expected},
          {"accepted", AcceptedJson(finding.accepted)}};
}

OrderedJson CasesJson(const Report& report) {
  std::set<std::string> proven;
  for (const Finding& finding : report.findings) {
    if (finding.proven) {
      proven.insert(finding.cases.begin(), finding.cases.end());
    }
  }
  OrderedJson cases = OrderedJson::array();
  for (const CaseReport& the_case : report.cases) {
    cases.push_back(CaseJson(the_case, proven.count(the_case.the_case.id) > 0));
  }
  return cases;
}

// Of ascending values.
OrderedJson SpreadJson(const std::vector<double>& values) {
  if (values.empty()) {
    return nullptr;
  }
  return {{"min", values.front()}, {"median", values[values.size() / 2]}, {"max", values.back()}};
}

OrderedJson DamageJson(const DamageCounts& counts) {
  const int judged = counts.Judged();
  if (judged == 0) {
    return nullptr;
  }
  const Interval interval = WilsonInterval(counts.loaded_changed, judged);
  return {{"judged", judged},
          {"refused", counts.refused},
          {"fell_back", counts.fell_back},
          {"loaded_exact", counts.loaded_exact},
          {"loaded_changed", counts.loaded_changed},
          {"other", counts.other},
          {"silent_acceptance",
           {{"rate", static_cast<double>(counts.loaded_changed) / judged},
            {"low", interval.low},
            {"high", interval.high}}}};
}

OrderedJson CellJson(const Cell& cell) {
  int case_count = 0;
  OrderedJson verdicts = OrderedJson::object();
  for (const auto& [verdict, count] : cell.verdicts) {
    verdicts[std::string(ToText(verdict))] = count;
    case_count += count;
  }
  return {{"target", cell.target},
          {"faults", cell.faults},
          {"world", cell.world},
          {"save_mode", cell.save_mode},
          {"cases", case_count},
          {"verdict", ToText(cell.worst)},
          {"verdicts", std::move(verdicts)},
          {"lost_steps", SpreadJson(cell.lost_steps)},
          {"recovery_s", SpreadJson(cell.recovery_s)},
          {"damage", DamageJson(cell.damage)}};
}

OrderedJson ChangeJson(const Change& change) {
  return {{"fingerprint", TextOrNull(change.fingerprint)},
          {"before", change.before},
          {"after", change.after},
          {"cases", change.cases},
          {"replay", change.replay}};
}

template <typename T, typename ToJson>
OrderedJson ListJson(const std::vector<T>& values, ToJson to_json) {
  OrderedJson json = OrderedJson::array();
  for (const T& value : values) {
    json.push_back(to_json(value));
  }
  return json;
}

OrderedJson ComparisonJson(const std::optional<Comparison>& comparison) {
  if (!comparison) {
    return nullptr;
  }
  return {{"earlier", comparison->earlier},
          {"regressions", ListJson(comparison->regressions, ChangeJson)},
          {"fixed", ListJson(comparison->fixed, ChangeJson)},
          {"changed", ListJson(comparison->changed, ChangeJson)},
          {"gone", comparison->gone},
          {"shared", comparison->shared_count},
          {"same", comparison->same_count}};
}

OrderedJson ReportJson(const Report& report) {
  OrderedJson summary = OrderedJson::object();
  for (const Verdict verdict : AllVerdicts()) {
    const auto found = report.summary.find(std::string(ToText(verdict)));
    summary[std::string(ToText(verdict))] = found == report.summary.end() ? 0 : found->second;
  }
  return {{"schema", "reprise.report/1"},
          {"tool", {{"version", report.version}, {"commit", report.commit}}},
          {"seed", report.seed},
          {"run_directory", report.run_directory},
          {"scenarios", report.scenarios},
          {"targets", ListJson(report.targets, TargetJson)},
          {"cases", CasesJson(report)},
          {"findings", ListJson(report.findings, FindingJson)},
          {"comparison", ComparisonJson(report.comparison)},
          {"cells", ListJson(CellsOf(report), CellJson)},
          {"damage", DamageJson(DamageOf(report))},
          {"summary", std::move(summary)},
          {"planned_cases", report.planned_case_count},
          {"cut", TextOrNull(report.cut)},
          {"notes", report.notes},
          {"wall_s", report.wall_s},
          {"exit", report.exit_status}};
}

class JsonWriter final : public ReportWriter {
 public:
  explicit JsonWriter(std::ostream& out) : out_(out) {}

  void OnFinished(const Report& report) override {
    constexpr int kIndent = 1;
    out_ << DumpJson(ReportJson(report), kIndent) << "\n";
  }

 private:
  std::ostream& out_;
};

}  // namespace

WriterInfo JsonWriterInfo() {
  return {.name = "json",
          .help = "all cases and findings for programs (docs/report.md)",
          .file_name = "report.json",
          .make = [](std::ostream& out, const WriterOptions&) -> std::unique_ptr<ReportWriter> {
            return std::make_unique<JsonWriter>(out);
          }};
}

}  // namespace reprise
