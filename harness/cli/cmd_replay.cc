// reprise replay CASE: runs one case of an earlier run again and says whether it comes out the
// same.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include "harness/campaign/campaign.h"
#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/judge/findings.h"
#include "reprise_build_info.h"

namespace reprise {
namespace {

struct ReplayFlags {
  std::string the_case;
  std::string out = "reprise-out";
  std::string json;
  bool cold = false;
  bool quiet = false;
};

// CASE is an id, or the folder DIR/cases/ID (or DIR/replay/ID) of a case.
ReplayOptions ToOptions(const ReplayFlags& flags) {
  ReplayOptions options;
  options.out = flags.out;
  options.case_id = flags.the_case;
  options.cold = flags.cold;
  options.models_folder = ModelsFolder();
  options.program = ProgramName();
  // The folder itself is dropped when its case is exact; its name still says all.
  std::filesystem::path folder = std::filesystem::path(flags.the_case).lexically_normal();
  if (!folder.has_filename()) {
    folder = folder.parent_path();  // "…/ID/"
  }
  const std::filesystem::path above = folder.parent_path();
  if (above.filename() == "cases" || above.filename() == "replay") {
    options.case_id = folder.filename().string();
    options.out = above.has_parent_path() ? above.parent_path() : ".";
  }
  return options;
}

Result<int> Run(const ReplayFlags& flags) {
  REPRISE_ASSIGN_OR_RETURN(const Reporters reporters,
                           Reporters::Create({"console"}, flags.json, flags.quiet));
  const ReplayOptions options = ToOptions(flags);
  REPRISE_ASSIGN_OR_RETURN(const Replay replay, ReplayCase(options));
  Report report;  // without a run directory: no report file of this belongs to one
  report.version = kVersion;
  report.commit = kCommit;
  report.seed = replay.seed;
  report.targets = {replay.target};
  report.cases = {replay.repeated};
  report.planned_case_count = 1;
  report.wall_s = replay.repeated.wall_s;
  Summarise(&report);
  REPRISE_RETURN_IF_ERROR(reporters.Finish(report, options.out));
  fmt::print(stderr, "{}: {} (recorded: {})\nevidence: {}\n",
             replay.same ? "the same" : "NOT THE SAME", ToText(replay.repeated.outcome.verdict),
             ToText(replay.recorded.outcome.verdict),
             (options.out / "replay" / options.case_id).string());
  return replay.same ? report.exit_status : std::max<int>(report.exit_status, kFindings);
}

std::function<int()> Declare(CLI::App* app) {
  const auto flags = std::make_shared<ReplayFlags>();
  app->add_option("CASE", flags->the_case, "id of a case, or its folder")->required();
  app->add_option("--out", flags->out, "run directory that the id belongs to")
      ->capture_default_str();
  app->add_flag("--cold", flags->cold, "start every attempt cold, without the fork server");
  app->add_option("--json", flags->json, "also write a JSON report to this file, or - ");
  app->add_flag("--quiet", flags->quiet, "say only what a person must act on");
  return [flags] {
    const Result<int> status = Run(*flags);
    return status ? *status : SayError(status.error());
  };
}

}  // namespace

Command ReplayCommand() { return {"replay", "run one case of an earlier run again", Declare}; }

}  // namespace reprise
