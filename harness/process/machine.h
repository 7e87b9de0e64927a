// What this machine allows, for `reprise doctor`: each fact is tried or read, not assumed.

#ifndef REPRISE_HARNESS_PROCESS_MACHINE_H_
#define REPRISE_HARNESS_PROCESS_MACHINE_H_

#include <string>
#include <vector>

namespace reprise {

struct MachineFact {
  std::string name;       // "ptrace"
  bool ok = true;         // false: something is lost
  std::string detail;     // what was found
  std::string lost;       // what does not work without it; empty when `ok`
  bool required = false;  // nothing can be run without it
};

// Starts a short-lived child to try ptrace(2) and the filter.
// REQUIRES: no supervisor runs an attempt in this process.
std::vector<MachineFact> ExamineMachine();

}  // namespace reprise

#endif  // REPRISE_HARNESS_PROCESS_MACHINE_H_
