// What the reference training is told: its command line, and its place among the ranks.

#ifndef REPRISE_REFERENCE_MODELS_OPTIONS_H_
#define REPRISE_REFERENCE_MODELS_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "harness/base/result.h"

namespace reprise::models {

// The number of logical workers: the arithmetic is always cut into this many parts, whatever the
// world size, which is what makes the trajectory bit-equal at any of them.
inline constexpr int kWorkerCount = 4;

struct Place {
  int rank = 0;
  int world = 1;
  std::string master_address = "127.0.0.1";
  int master_port = 29500;
};

// A value that a checkpoint also holds is a default: the checkpoint's wins.
struct Options {
  std::string checkpoint_folder;  // empty: neither loads nor saves
  std::string corpus;             // path of the text
  std::string device = "cpu";
  std::string format = "sharded-safetensors";
  std::string mutant;  // of transformer_mutants only
  bool list_mutants = false;
  bool save = true;
  std::int64_t layers = 2;
  std::int64_t width = 20;  // a multiple of kHeadCount
  std::int64_t steps = 14;
  std::int64_t save_every = 3;
  std::int64_t eval_every = 4;
  int keep = 2;
  std::uint64_t seed = 1;
  std::int64_t epoch_samples = 72;  // four full windows and a half one
  std::int64_t warmup_steps = 3;
  std::int64_t horizon_steps = 0;  // end of the cosine; 0: `steps`
  double learning_rate = 3e-3;
  double weight_decay = 0.1;
  double ema_decay = 0.95;
  Place place;
};

// Reads the command line and torchrun's environment (RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT).
// kUsage with a full sentence; with an empty message after --help, whose text is then on standard
// output. `with_mutants` adds --mutant and --list-mutants.
Result<Options> ReadOptions(int argc, const char* const* argv, bool with_mutants);

}  // namespace reprise::models

#endif  // REPRISE_REFERENCE_MODELS_OPTIONS_H_
