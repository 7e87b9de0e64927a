// What a training is put together from: one maker a component. A mutant is the correct recipe with
// one maker replaced, so the correct program holds no mutant's code.

#ifndef REPRISE_REFERENCE_MODELS_RECIPE_H_
#define REPRISE_REFERENCE_MODELS_RECIPE_H_

#include <memory>

#include "harness/base/result.h"
#include "reference_models/options.h"

namespace reprise {
class CheckpointFormat;
}

namespace reprise::models {

class AdamW;
class DataPosition;
class Ema;
class Restorer;
class RngStreams;
class Saver;
class Schedule;
class Weights;

using FormatPtr = std::unique_ptr<CheckpointFormat>;

struct Recipe {
  std::unique_ptr<Weights> (*weights)(const Options&) = nullptr;
  std::unique_ptr<AdamW> (*optimizer)(const Options&, const Weights&) = nullptr;
  std::unique_ptr<Ema> (*ema)(const Options&, const Weights&) = nullptr;
  std::unique_ptr<RngStreams> (*rng)(const Options&) = nullptr;
  std::unique_ptr<Schedule> (*schedule)(const Options&) = nullptr;
  std::unique_ptr<DataPosition> (*data)(const Options&) = nullptr;
  std::unique_ptr<Saver> (*saver)(FormatPtr) = nullptr;
  std::unique_ptr<Restorer> (*restorer)(FormatPtr) = nullptr;
};

Recipe CorrectRecipe();

// One life of the training: joins the ranks, restores, trains to options.steps, saves. No exception
// leaves it.
Status RunTraining(const Options& options, const Recipe& recipe);

// What a life does first, done once in a fork server: one forward and backward on one thread, which
// leaves no trace in any state.
void WarmUp();

}  // namespace reprise::models

#endif  // REPRISE_REFERENCE_MODELS_RECIPE_H_
