// Runs ranks as they are, without the tracer: what a recorded run is compared with in measurements.

#ifndef REPRISE_HARNESS_PROCESS_PLAIN_RUN_H_
#define REPRISE_HARNESS_PROCESS_PLAIN_RUN_H_

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/base/result.h"

namespace reprise {

struct PlainSpec {
  std::vector<std::vector<std::string>> commands;  // one per rank; [0] is looked up in PATH
  std::map<std::string, std::string> environment;  // over the inherited one, as in AttemptSpec
  std::filesystem::path logbook_folder;            // empty: the probe stays silent
  std::filesystem::path output_file;               // gets both streams of all ranks
  std::chrono::milliseconds timeout{600'000};
};

struct PlainRun {
  std::chrono::microseconds cpu_time{0};  // of all ranks and what they waited for
  std::chrono::microseconds wall_time{0};
  std::int64_t peak_memory_bytes = 0;  // of the largest
};

// kNotFound: no such command; kSystem: a rank failed, with its status and the end of its output;
// kDeadline: the timeout, or a request to stop. No process of the run is left in any case, as long
// as none leaves its rank's process group. REQUIRES: the calling process has no other child that
// ends meanwhile.
Result<PlainRun> RunPlain(const PlainSpec& spec);

}  // namespace reprise

#endif  // REPRISE_HARNESS_PROCESS_PLAIN_RUN_H_
