// What the probe itself knows about the process and the machine, for the start record.

#ifndef REPRISE_PROBES_C_START_ENVIRONMENT_H_
#define REPRISE_PROBES_C_START_ENVIRONMENT_H_

#include <map>
#include <string>

namespace reprise::probe {

// What may change the bits of a training, and nothing that only names the machine: "cpu",
// "cpu.flags", "digest.path", "kernel", "libc", "compiler", "probe", "threads" (OMP_NUM_THREADS).
std::map<std::string, std::string> StartEnvironment();

}  // namespace reprise::probe

#endif  // REPRISE_PROBES_C_START_ENVIRONMENT_H_
