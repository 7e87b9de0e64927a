// reprise: kill it, resume it, prove it is the same run.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <vector>

#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/process/stop.h"
#include "reprise_build_info.h"

// NOLINTNEXTLINE(bugprone-exception-escape): beside errors of usage only our own mistakes throw
int main(int argc, char** argv) {
  CLI::App app("Restart-correctness testing for training checkpoints", "reprise");
  app.set_version_flag("--version",
                       fmt::format("reprise {} ({})", reprise::kVersion, reprise::kCommit));
  app.require_subcommand(1);
  int status = reprise::kSuccess;
  for (const reprise::Command& command : reprise::AllCommands()) {
    CLI::App* subcommand = app.add_subcommand(command.name, command.help);
    const std::function<int()> run = command.declare(subcommand);
    subcommand->callback([run, &status] { status = run(); });
  }
  reprise::OccupyStandardStreams();
  reprise::InstallStopHandlers();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? reprise::kSuccess : reprise::kUsageError;
  }
  return status;
}
