// reprise run SCENARIO…: runs scenarios and reports.

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "harness/campaign/campaign.h"
#include "harness/cli/accept.h"
#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/judge/findings.h"
#include "reprise_build_info.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

struct RunOptions {
  std::vector<std::string> scenarios;
  std::string out = "reprise-out";
  std::uint64_t seed = 1;
  bool seed_given = false;
  int jobs = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  std::string budget;
  std::string json;
  std::string accept;
  std::vector<std::string> reports = {"console", "json", "junit"};
  bool quiet = false;
  bool resume = false;
  bool keep = false;
};

// A folder stands for all scenario files below it.
Result<std::vector<fs::path>> ScenarioFiles(const std::vector<std::string>& arguments) {
  std::vector<fs::path> files;
  for (const std::string& argument : arguments) {
    if (!fs::is_directory(argument)) {
      files.emplace_back(argument);
      continue;
    }
    std::vector<fs::path> inside;
    for (const auto& entry : fs::recursive_directory_iterator(argument)) {
      // schema.json describes scenarios to editors and is none itself.
      if (entry.is_regular_file() && entry.path().extension() == ".json" &&
          entry.path().filename() != "schema.json") {
        inside.push_back(entry.path());
      }
    }
    if (inside.empty()) {
      return Fail(ErrorCode::kUsage, "this folder holds no scenario (*.json)", argument);
    }
    std::sort(inside.begin(), inside.end());
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

Result<CampaignOptions> ToCampaign(const RunOptions& options) {
  if (options.resume != options.scenarios.empty()) {
    return Fail(ErrorCode::kUsage,
                options.resume ? "--continue takes the scenarios of the run in --out; name none"
                               : "name one or more scenario files, or --continue an earlier run");
  }
  if (options.resume && options.seed_given) {
    return Fail(ErrorCode::kUsage, "--continue keeps the seed of the run in --out", "--seed");
  }
  CampaignOptions campaign;
  REPRISE_ASSIGN_OR_RETURN(campaign.scenarios, ScenarioFiles(options.scenarios));
  for (const fs::path& scenario : campaign.scenarios) {
    std::error_code error;
    if (!options.json.empty() && fs::equivalent(options.json, scenario, error)) {
      return Fail(ErrorCode::kUsage, "the report would replace this scenario", scenario.string());
    }
  }
  campaign.out = options.out;
  campaign.models_folder = ModelsFolder();
  campaign.program = ProgramName();
  campaign.version = kVersion;
  campaign.commit = kCommit;
  campaign.seed = options.seed;
  campaign.jobs = options.jobs;
  campaign.resume = options.resume;
  campaign.keep = options.keep;
  if (!options.budget.empty()) {
    REPRISE_ASSIGN_OR_RETURN(campaign.budget, ParseBudget(options.budget));
  }
  return campaign;
}

Result<int> Run(const RunOptions& options) {
  REPRISE_ASSIGN_OR_RETURN(CampaignOptions campaign, ToCampaign(options));
  REPRISE_ASSIGN_OR_RETURN(const Reporters reporters,
                           Reporters::Create(options.reports, options.json, options.quiet));
  REPRISE_ASSIGN_OR_RETURN(const auto accepted, LoadAcceptances(options.accept));
  campaign.listeners = reporters.Listeners();
  REPRISE_ASSIGN_OR_RETURN(Report report, RunCampaign(campaign));
  Accept(accepted, &report);
  REPRISE_RETURN_IF_ERROR(reporters.Finish(report, report.run_directory));
  return report.exit_status;
}

std::function<int()> Declare(CLI::App* app) {
  const auto options = std::make_shared<RunOptions>();
  app->add_option("SCENARIO", options->scenarios, "scenario files, or folders of them");
  app->add_option("--out", options->out, "run directory")->capture_default_str();
  const CLI::Option* seed = app->add_option("--seed", options->seed, "of everything that is drawn")
                                ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{INT64_MAX}))
                                ->capture_default_str();
  app->add_option("--jobs", options->jobs, "cases at a time")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app->add_option("--budget", options->budget,
                  "wall time for the cases (90s, 15m, 2h); cuts the end of the plan");
  app->add_flag("--continue", options->resume, "go on with the run in --out");
  app->add_flag("--keep", options->keep, "keep the folders of all cases, also of exact ones");
  app->add_option("--report", options->reports, "reports to write (see: reprise list)")
      ->delimiter(',')
      ->capture_default_str();
  app->add_option("--json", options->json, "also write the JSON report to this file, or - ");
  app->add_option("--accept", options->accept,
                  "file of known findings that do not fail, by fingerprint");
  app->add_flag("--quiet", options->quiet, "say only what a person must act on");
  return [options, seed] {
    options->seed_given = seed->count() > 0;
    const Result<int> status = Run(*options);
    return status ? *status : SayError(status.error());
  };
}

}  // namespace

Command RunCommand() { return {"run", "run scenarios and report", Declare}; }

}  // namespace reprise
