#include "harness/cli/command.h"

namespace reprise {

#define REPRISE_COMMAND(Name) Command Name##Command();
#include "harness/cli/commands.inc"
#undef REPRISE_COMMAND

const std::vector<Command>& AllCommands() {
  static const std::vector<Command> all = {
#define REPRISE_COMMAND(Name) Name##Command(),
#include "harness/cli/commands.inc"
#undef REPRISE_COMMAND
  };
  return all;
}

}  // namespace reprise
