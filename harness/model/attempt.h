// One life of the target's processes, and all that was witnessed of it in one sequence.

#ifndef REPRISE_HARNESS_MODEL_ATTEMPT_H_
#define REPRISE_HARNESS_MODEL_ATTEMPT_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "harness/model/operation.h"

namespace reprise {

// A line of the logbook, not yet parsed, at the moment when it had reached the file.
struct RecordEvent {
  int rank = 0;
  std::string line;  // without the newline
};

// A line of standard output or error.
struct OutputEvent {
  int rank = 0;
  int stream = 1;  // 1 or 2
  std::string line;
};

struct OperationEvent {
  Operation operation;
};

// Written by the supervisor before the fault takes effect.
struct FaultEvent {
  std::string injector;
  std::string what;  // "SIGKILL to all ranks before rank 1, save 0, operation 3 (rename …)"
};

using AttemptEvent = std::variant<RecordEvent, OutputEvent, OperationEvent, FaultEvent>;

enum class RankEnd {
  kExited,         // by itself, `status` is its exit status
  kSignalled,      // by a signal that we did not send, `status` is its number
  kKilledByFault,  // by an injected fault
  kKilledAfter,    // by us, when the attempt was over (peer of a killed rank, hang, budget)
};

struct RankResult {
  RankEnd end = RankEnd::kExited;
  int status = 0;
  std::chrono::microseconds cpu_time{0};
  std::int64_t peak_memory_bytes = 0;
};

enum class AttemptEnd {
  kAllExited,  // every rank ended by itself
  kFault,      // an injected fault ended it
  kHung,       // no watched event and no CPU time before the deadline; see `stacks`
  kTimeout,    // the hard limit of wall time
};

struct AttemptResult {
  AttemptEnd end = AttemptEnd::kAllExited;
  std::vector<RankResult> ranks;
  std::vector<AttemptEvent> events;  // the one sequence
  std::chrono::microseconds wall_time{0};
  std::int64_t tracer_stop_count = 0;
  std::vector<std::string> blind_spots;  // what could not be observed, in words
  std::string stacks;  // of all ranks of a hung attempt: /proc/PID/{stack,wchan,syscall}
};

}  // namespace reprise

#endif  // REPRISE_HARNESS_MODEL_ATTEMPT_H_
