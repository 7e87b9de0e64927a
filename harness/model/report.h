// A report as data: what every report writer gets. JSON form: docs/report.md.

#ifndef REPRISE_HARNESS_MODEL_REPORT_H_
#define REPRISE_HARNESS_MODEL_REPORT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/model/case.h"
#include "harness/model/outcome.h"

namespace reprise {

// What a scenario expects of a case. A case without expectation must not be a finding.
struct Expectation {
  std::vector<Verdict> verdicts;  // any of these; empty: any that is no finding
  std::string cause;              // exact text; empty: not looked at
  std::optional<Layer> layer;
  std::optional<std::int64_t> step;
  std::string name;  // Divergence::name; empty: not looked at
};

struct CaseReport {
  Case the_case;
  Outcome outcome;
  std::optional<Expectation> expect;
  bool met = true;                 // the expectation, or, without one, that it is no finding
  bool accepted = false;           // not met, and its finding is accepted: no failure
  std::string unmet_why;           // what differs from the expectation
  std::vector<std::string> fired;  // what the injectors did, in words, in order
  // Of a finding: what a repetition from a cold start said; empty: none ran.
  std::string confirmation;
  double wall_s = 0;
  std::string replay;  // command that shows it again
};

struct Calibration {
  bool observed = false;  // false: nothing could be compared, `deterministic` says nothing
  bool deterministic = true;
  std::optional<Divergence> first_difference;
  std::string noise;  // empty: none measured
};

struct TargetReport {
  Target target;
  std::string depth = "command";  // command | files | probe | calls
  std::vector<std::string> blind_spots;
  std::map<std::string, std::string> versions;
  Calibration calibration;
  std::vector<std::string> exercised;  // components of the state that changed in the reference
  std::vector<std::string> not_exercised;
};

// A finding that somebody knows and lives with, as a file of accepted findings names it.
struct Acceptance {
  std::string fingerprint;
  std::string reason;
  std::string date;  // of the decision: 2026-12-01
};

// All cases with one root cause.
struct Finding {
  std::string fingerprint;  // target, cause or place, kind of fault; no step, rank or id of a case
  std::string cause;
  bool proven = false;
  Verdict verdict = Verdict::kDiverged;
  std::string title;
  std::string why;
  std::vector<std::string> cases;  // ids, the simplest first
  bool expected = false;           // every case expects it
  std::optional<Acceptance> accepted;
};

// Cases that moved in the same way between two reports.
struct Change {
  std::string fingerprint;  // of their finding in the later report, else in the earlier; or empty
  std::string before;       // "exact", "diverged: ema: not restored"; "not in the plan"
  std::string after;
  std::vector<std::string> cases;  // ids, in the order of the plan
  std::string replay;              // of the first one, in the later report
};

// What differs from an earlier report. A case regresses when it was right and is not, or is no
// longer judged; also when it is new and shows a finding that the earlier report does not know.
struct Comparison {
  std::string earlier;  // its run directory
  std::vector<Change> regressions;
  std::vector<Change> fixed;
  std::vector<Change> changed;    // neither: another way to fail, or judged for the first time
  std::vector<std::string> gone;  // ids of cases that only the earlier report has
  int shared_count = 0;           // cases that both reports have
  int same_count = 0;             // of these: the same verdict, cause and place
};

struct Report {
  std::string version;
  std::string commit;
  std::uint64_t seed = 1;
  std::string run_directory;
  std::vector<std::string> scenarios;
  std::vector<TargetReport> targets;
  std::vector<CaseReport> cases;       // in the order of the plan
  std::vector<Finding> findings;       // derived by Summarise()
  std::map<std::string, int> summary;  // verdict -> number of cases
  std::vector<std::string> notes;      // on accepted findings: what in their file fits nothing
  std::optional<Comparison> comparison;
  int planned_case_count = 0;
  std::string cut;  // where a budget cut the plan; empty: not cut
  double wall_s = 0;
  int exit_status = 0;
};

}  // namespace reprise

#endif  // REPRISE_HARNESS_MODEL_REPORT_H_
