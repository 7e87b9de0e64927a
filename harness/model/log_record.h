// The records of a logbook: what one rank tells about one attempt, in order.
//
// The text form (JSON Lines), with a worked example, is specified in docs/logbook.md; the writer is
// probes/c/logbook.h, the reader harness/record/logbook_reader.h.

#ifndef REPRISE_HARNESS_MODEL_LOG_RECORD_H_
#define REPRISE_HARNESS_MODEL_LOG_RECORD_H_

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "harness/model/float_bits.h"
#include "harness/model/tensor.h"

namespace reprise {

// Everywhere below, `step` is the number of completed optimizer steps. A micro-batch or optimizer
// record that works towards the s-th update (1-based) carries step = s.

struct StartRecord {
  int rank = 0;
  int world = 1;
  int attempt = 0;
  std::map<std::string, std::string> environment;  // versions, threads, device, determinism flags …
};

// Tensors are described once and then numbered, in the order of all `names` records of the rank.
struct NamesRecord {
  std::vector<TensorRecord> tensors;
};

// The target has loaded a checkpoint (or, with step 0 and an empty name, has found none).
struct RestoredRecord {
  std::int64_t step = 0;
  std::string checkpoint;            // name of the checkpoint inside the folder: "step-00000020"
  std::vector<std::string> refused;  // newer ones that were looked at and not used, with the reason
};

struct ReadyRecord {  // just before the first forward
  std::int64_t step = 0;
};

struct MicroBatchRecord {  // written before the forward of this micro-batch
  std::int64_t step = 0;
  std::int64_t micro = 0;   // position of the micro-batch inside its accumulation window
  std::int64_t worker = 0;  // logical worker; the rank itself where there are none
  std::vector<std::int64_t> ids;
  std::string content;  // content id of what the model receives
};

struct OptimizerRecord {  // all gradients are there; the update is next
  std::int64_t step = 0;
};

struct StepRecord {  // the update and all that follows it (schedule, EMA, …) is done
  std::int64_t step = 0;
  FloatBits loss;
  std::vector<FloatBits> learning_rate;  // per parameter group
  std::vector<FloatBits> weight_decay;
};

// A reading of the state. `scalars` are values by name, as text: integers in decimal, floats in the
// form of FloatBits, anything else verbatim.
struct StateRecord {
  std::string reading;  // "request" | "restored" | "ready" | "step"
  std::int64_t step = 0;
  std::map<int, DigestSum> tensors;            // by number
  std::map<std::string, std::string> scalars;  // "data.position": "12", "scheduler.step": "20" …
};

struct SaveBeginRecord {
  std::int64_t step = 0;
};

struct SaveAckRecord {  // the target announces that the save is done
  std::int64_t step = 0;
};

struct EvalRecord {
  std::int64_t step = 0;
  FloatBits loss;
};

struct EpochRecord {  // a new epoch begins; `step` are completed
  std::int64_t step = 0;
  std::int64_t epoch = 0;
};

struct EndRecord {
  std::int64_t step = 0;
};

using LogRecord = std::variant<StartRecord, NamesRecord, RestoredRecord, ReadyRecord,
                               MicroBatchRecord, OptimizerRecord, StepRecord, StateRecord,
                               SaveBeginRecord, SaveAckRecord, EvalRecord, EpochRecord, EndRecord>;

// One rank's records of one attempt.
struct Logbook {
  int rank = 0;
  std::vector<LogRecord> records;
  bool torn_tail = false;  // the last line was incomplete (a kill while it was written) and skipped
};

}  // namespace reprise

#endif  // REPRISE_HARNESS_MODEL_LOG_RECORD_H_
