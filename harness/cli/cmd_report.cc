// reprise report DIR…: renders the reports of earlier runs again, several as one, and compares them
// with a still earlier one.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "harness/cli/accept.h"
#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/judge/findings.h"
#include "harness/record/run_directory.h"

namespace reprise {
namespace {

struct ReportOptions {
  std::vector<std::string> directories;
  std::string out;
  std::string json;
  std::string accept;
  std::string compare;
  std::vector<std::string> reports = {"console"};
  bool quiet = false;
};

// Adds the run to the report; a case that both hold is counted once, as the later run judged it.
void Merge(Report run, Report* report) {
  std::set<std::string> ids;
  for (const CaseReport& added : run.cases) {
    ids.insert(added.the_case.id);
  }
  std::erase_if(report->cases,
                [&](const CaseReport& old) { return ids.contains(old.the_case.id); });
  std::set<std::string> targets;
  for (const TargetReport& added : run.targets) {
    targets.insert(added.target.id);
  }
  std::erase_if(report->targets,
                [&](const TargetReport& old) { return targets.contains(old.target.id); });
  std::move(run.cases.begin(), run.cases.end(), std::back_inserter(report->cases));
  std::move(run.targets.begin(), run.targets.end(), std::back_inserter(report->targets));
  report->scenarios.insert(report->scenarios.end(), run.scenarios.begin(), run.scenarios.end());
  report->planned_case_count += run.planned_case_count;
  report->wall_s += run.wall_s;
  report->cut += report->cut.empty() || run.cut.empty() ? run.cut : "; " + run.cut;
}

// The report of one run; `is_finished` becomes false when the run did not finish.
Result<Report> ReadRun(const std::string& directory, bool* is_finished) {
  REPRISE_ASSIGN_OR_RETURN(const RunRecord record, RunDirectory::Read(directory));
  Report run = ToReport(record, std::filesystem::canonical(directory));
  if (!record.finished) {
    *is_finished = false;
    run.cut =
        fmt::format("the run in {0} did not finish (reprise run --continue --out {0})", directory);
  }
  return run;
}

// Both sides accept the same findings, so that accepting one is no regression.
Status CompareWith(const std::string& directory, const std::vector<Acceptance>& accepted,
                   bool* is_finished, Report* report) {
  REPRISE_ASSIGN_OR_RETURN(Report earlier, ReadRun(directory, is_finished));
  Summarise(&earlier);
  Accept(accepted, &earlier);
  report->comparison = CompareReports(earlier, *report);
  report->exit_status = ExitStatusOf(*report->comparison);
  return {};
}

Result<int> Run(const ReportOptions& options) {
  REPRISE_ASSIGN_OR_RETURN(const Reporters reporters,
                           Reporters::Create(options.reports, options.json, options.quiet));
  REPRISE_ASSIGN_OR_RETURN(const auto accepted, LoadAcceptances(options.accept));
  Report report;
  bool all_finished = true;
  for (std::size_t i = 0; i < options.directories.size(); ++i) {
    REPRISE_ASSIGN_OR_RETURN(Report run, ReadRun(options.directories[i], &all_finished));
    if (i == 0) {
      report = std::move(run);
    } else {
      Merge(std::move(run), &report);
    }
  }
  Summarise(&report);
  Accept(accepted, &report);
  if (!options.compare.empty()) {
    REPRISE_RETURN_IF_ERROR(CompareWith(options.compare, accepted, &all_finished, &report));
  }
  const std::filesystem::path folder = options.out.empty()
                                           ? std::filesystem::path(report.run_directory)
                                           : std::filesystem::path(options.out);
  // A run that did not finish has proved nothing about what it did not reach.
  if (!all_finished && report.exit_status == kSuccess) {
    report.exit_status = kHarnessTrouble;
  }
  REPRISE_RETURN_IF_ERROR(reporters.Finish(report, folder));
  return report.exit_status;
}

std::function<int()> Declare(CLI::App* app) {
  const auto options = std::make_shared<ReportOptions>();
  app->add_option("DIR", options->directories, "run directories")->required();
  app->add_option("--report", options->reports, "reports to write (see: reprise list)")
      ->delimiter(',')
      ->capture_default_str();
  app->add_option("--out", options->out,
                  "existing folder for report files; the first DIR otherwise");
  app->add_option("--json", options->json, "also write the JSON report to this file, or - ");
  app->add_option("--accept", options->accept,
                  "file of known findings that do not fail, by fingerprint");
  app->add_option("--compare", options->compare,
                  "run directory of an earlier run: say what differs, exit 1 on a regression");
  app->add_flag("--quiet", options->quiet, "say only what a person must act on");
  return [options] {
    const Result<int> status = Run(*options);
    return status ? *status : SayError(status.error());
  };
}

}  // namespace

Command ReportCommand() {
  return {"report", "render the reports of earlier runs, several as one", Declare};
}

}  // namespace reprise
