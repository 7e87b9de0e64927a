// A report with one case of each kind; see sample_report.h.

#include "reports/sample_report.h"

#include <algorithm>
#include <utility>

namespace reprise {
namespace {

constexpr const char* kScenario = "sample";

CaseReport MakeCase(std::string id, std::vector<Fault> faults, std::vector<int> world,
                    Verdict verdict) {
  CaseReport report;
  report.replay = "reprise replay reprise-out/" + id;
  const int reference_world = world.front();
  report.the_case = {.id = std::move(id),
                     .scenario = kScenario,
                     .target = "transformer",
                     .faults = std::move(faults),
                     .world = std::move(world),
                     .reference_world = reference_world};
  report.outcome.verdict = verdict;
  report.outcome.restored_step = 20;
  report.outcome.expected_step = 20;
  report.outcome.recovery_s = 0.25;
  report.wall_s = 0.5;
  return report;
}

Fault MakeFault(std::string kind, std::map<std::string, std::string> params) {
  Fault fault;
  fault.kind = std::move(kind);
  fault.params = std::move(params);
  return fault;
}

Fault KillAt(const std::string& operation) {
  return MakeFault("kill.operation", {{"cut", "before"}, {"operation", operation}});
}

Divergence LostMoments(const std::string& payload) {
  return {.layer = Layer::kD1,
          .step = 20,
          .rank = 1,
          .name = "exp_avg/blocks.0.attn.qkv.weight" + payload,
          .expected = "digest 1f0c" + payload,
          .actual = "digest 0000, all zero" + payload,
          .detail = "after the load, before the first forward" + payload};
}

CaseReport UnexpectedFinding(const std::string& payload) {
  CaseReport report = MakeCase("k-0003", {KillAt("1/0/3")}, {2, 1}, Verdict::kDiverged);
  Outcome& outcome = report.outcome;
  outcome.why = "resumed, but is another run" + payload;
  outcome.divergence = LostMoments(payload);
  outcome.cause = "optimizer.moments: in file, never applied";
  outcome.evidence = "stored digest equals the reference at step 20" + payload;
  outcome.consequences = {"D5 step 21: weight/embedding" + payload, "D5 step 21: ema/embedding",
                          "D6 step 40: loss", "D6 step 48: loss", "D6 step 48: evaluation"};
  report.met = false;
  report.unmet_why = "expected no finding";
  report.fired = {"SIGKILL to all ranks before rank 1, save 0, operation 3 (rename)" + payload};
  report.confirmation = "diverged, at the same place" + payload;
  return report;
}

CaseReport ExpectedFinding() {
  CaseReport report =
      MakeCase("d-0005", {KillAt("0/1/2"), MakeFault("damage.truncate", {{"region", "tensor"}})},
               {1, 2}, Verdict::kSilentRestart);
  report.outcome.why = "began at step 0 without an error";
  report.outcome.restored_step = 0;
  report.outcome.lost_steps = 20;
  report.expect.emplace().verdicts = {Verdict::kSilentRestart};
  return report;
}

CaseReport AcceptedFinding() {
  CaseReport report =
      MakeCase("d-0004", {KillAt("0/1/2"), MakeFault("damage.flip", {{"region", "tensor"}})},
               {1, 2}, Verdict::kDiverged);
  report.outcome.why = "resumed, but is another run";
  report.outcome.lost_steps = 2;
  report.met = false;
  report.unmet_why = "expected no finding";
  report.accepted = true;
  return report;
}

CaseReport MissedExpectation() {
  CaseReport report = MakeCase("k-0006", {KillAt("0/1/4")}, {2, 2}, Verdict::kExact);
  report.expect = Expectation{.verdicts = {Verdict::kDiverged},
                              .cause = "rng.torch: not restored",
                              .layer = Layer::kD3,
                              .step = 20,
                              .name = "loss"};
  report.met = false;
  report.unmet_why = "expected diverged, found exact";
  return report;
}

CaseReport OurFailure() {
  CaseReport report = MakeCase("k-0008", {KillAt("0/2/0")}, {4, 3}, Verdict::kHarnessError);
  report.outcome.why = "the run directory is full";
  report.outcome.restored_step = -1;
  report.outcome.expected_step = -1;
  return report;
}

CaseReport NotExercised() {
  CaseReport report = MakeCase("k-0007", {MakeFault("kill.step", {{"step", "99"}})}, {1, 1},
                               Verdict::kNotExercised);
  report.outcome.why = "the target ended before step 99";
  return report;
}

TargetReport SampleTarget(const std::string& payload) {
  TargetReport target;
  target.target.id = "transformer";
  target.target.command = {"{models}/transformer", "--steps", "{steps}", "--out", "{ckpt}"};
  target.target.format = "sharded-safetensors";
  target.target.steps = 48;
  target.depth = "calls";
  target.blind_spots = {"io_uring was refused once" + payload};
  target.versions = {{"libtorch", "1.13.1"}};
  target.calibration.observed = true;
  target.exercised = {"model", "optimizer.moments"};
  target.not_exercised = {"scaler"};
  return target;
}

void CountVerdicts(Report* report) {
  report->planned_case_count = static_cast<int>(report->cases.size()) + 2;
  for (const CaseReport& the_case : report->cases) {
    ++report->summary[std::string(ToText(the_case.outcome.verdict))];
  }
}

}  // namespace

std::string HostileText() {
  std::string text = " \x1b[31mred\x1b]0;title\x07 <b a=\"1\">&amp;]]> \r\n\t";
  text += '\0';
  return text + "\xe2\x80\xae \xff\xc3 \xc2\x9b \xef\xbf\xbf end";
}

Report SampleReport(const std::string& payload) {
  Report report;
  report.version = "0.1.0";
  report.commit = "0123abc";
  report.seed = 7;
  report.run_directory = "reprise-out";
  report.scenarios = {"scenarios/sample.json"};
  report.targets = {SampleTarget(payload)};
  CaseReport fallback = MakeCase("k-0002", {KillAt("0/1/1")}, {2, 1}, Verdict::kExactFallback);
  fallback.outcome.why = "the newest checkpoint was not complete; the one of step 12 was used";
  report.cases = {MakeCase("k-0001", {KillAt("0/0/0")}, {1, 1}, Verdict::kExact),
                  std::move(fallback),
                  UnexpectedFinding(payload),
                  AcceptedFinding(),
                  ExpectedFinding(),
                  MissedExpectation(),
                  NotExercised(),
                  OurFailure()};
  report.findings = {
      {.fingerprint = "silent-restart|damage.truncate",
       .cause = "",
       .verdict = Verdict::kSilentRestart,
       .title = "began from scratch without an error",
       .why = "one case",
       .cases = {"d-0005"},
       .expected = true,
       .accepted = std::nullopt},
      {.fingerprint = "optimizer.moments: in file, never applied|kill.operation",
       .cause = "optimizer.moments: in file, never applied",
       .verdict = Verdict::kDiverged,
       .title = "the optimizer's moments are in the file and were never applied" + payload,
       .why = "stored state is right, restored state is zero" + payload,
       .cases = {"k-0003"},
       .accepted = std::nullopt},
      {.fingerprint = "diverged|damage.flip",
       .cause = "",
       .verdict = Verdict::kDiverged,
       .title = "one bit of a tensor was loaded as it was",
       .why = "resumed, but is another run",
       .cases = {"d-0004"},
       .accepted = Acceptance{"diverged|damage.flip", "no checksums yet" + payload, "2026-11-30"}}};
  report.notes = {"the accepted finding 0123 was not seen: mended (2026-10-01)" + payload};
  report.cut = "the budget of 60 s was used up";
  report.wall_s = 12.5;
  report.exit_status = 1;
  CountVerdicts(&report);
  return report;
}

Report GoodReport() {
  Report report = SampleReport("");
  std::erase_if(report.cases, [](const CaseReport& the_case) {
    return !the_case.met || the_case.outcome.verdict == Verdict::kHarnessError;
  });
  report.notes.clear();
  std::erase_if(report.findings, [](const Finding& finding) { return !finding.expected; });
  report.summary.clear();
  report.cut.clear();
  report.exit_status = 0;
  CountVerdicts(&report);
  return report;
}

}  // namespace reprise
