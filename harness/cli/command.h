// A subcommand of reprise, and the list of all of them. One subcommand is one file and one line in
// commands.inc.

#ifndef REPRISE_HARNESS_CLI_COMMAND_H_
#define REPRISE_HARNESS_CLI_COMMAND_H_

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}  // namespace CLI

namespace reprise {

// Exit statuses of every command (docs/user-guide.md, "Exit status").
enum ExitStatus {
  kSuccess = 0,
  kFindings = 1,
  kUsageError = 2,
  kHarnessTrouble = 3,
  kNothingJudged = 4
};

struct Command {
  std::string name;
  std::string help;  // one line
  // Declares options and arguments; what it returns is called after they were parsed and returns
  // the exit status.
  std::function<int()> (*declare)(CLI::App* app) = nullptr;
};

const std::vector<Command>& AllCommands();

}  // namespace reprise

#endif  // REPRISE_HARNESS_CLI_COMMAND_H_
