// Runs scenarios: uninterrupted runs, calibration, the plan's cases, confirmation of what was
// found.
//
// Everything that happens is appended to the run directory's events first; the report is made from
// them, so a campaign that was killed goes on with `resume` and ends with the same report.

#ifndef REPRISE_HARNESS_CAMPAIGN_CAMPAIGN_H_
#define REPRISE_HARNESS_CAMPAIGN_CAMPAIGN_H_

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/model/report.h"
#include "reports/report_writer.h"

namespace reprise {

struct CampaignOptions {
  std::vector<std::filesystem::path> scenarios;
  std::filesystem::path out = "reprise-out";
  std::filesystem::path models_folder;  // what {models} in commands stands for
  std::string program = "reprise";      // as the user calls it, for replay commands
  std::string version;
  std::string commit;
  std::uint64_t seed = 1;
  int jobs = 2;                          // cases at a time
  std::chrono::milliseconds budget{0};   // of wall time for cases; zero: no limit
  bool resume = false;                   // go on with the run in `out`; scenarios, seed are its own
  bool keep = false;                     // keep the folders of all cases
  std::vector<ReportWriter*> listeners;  // get progress and cases as they happen; not owned
};

// The finished report. Errors are of the user's input (kUsage, kInvalidInput, kNotFound) or of the
// machine; kDeadline: interrupted, the run directory can be continued. In no case a process is
// left.
Result<Report> RunCampaign(const CampaignOptions& options);

// Runs one case of an earlier run again, in `out`/replay/ID. The events of the run stay as they
// are.
struct ReplayOptions {
  std::filesystem::path out;
  std::string case_id;
  std::filesystem::path models_folder;
  std::string program = "reprise";
  bool cold = false;
};
struct Replay {
  std::uint64_t seed = 1;
  TargetReport target;
  CaseReport recorded;
  CaseReport repeated;
  bool same = false;  // verdict, cause and divergence
};
Result<Replay> ReplayCase(const ReplayOptions& options);

// True when two executions of a case say the same: verdict, steps, cause and divergence.
bool SayTheSame(const Outcome& a, const Outcome& b);

}  // namespace reprise

#endif  // REPRISE_HARNESS_CAMPAIGN_CAMPAIGN_H_
