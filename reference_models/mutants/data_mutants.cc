// Faults of the data position and of the schedule.

#include <algorithm>
#include <memory>

#include "reference_models/data.h"
#include "reference_models/mutants/mutant.h"
#include "reference_models/schedule.h"
#include "reference_models/sizes.h"

namespace reprise::models {
namespace {

// The loader is built anew and starts at its first batch.
class DataRestart final : public DataPosition {
 public:
  using DataPosition::DataPosition;
  Status Load(StateSource& source) override {
    REPRISE_RETURN_IF_ERROR(DataPosition::Load(source));
    epoch_ = 0;
    position_ = 0;
    Shuffle();
    return {};
  }
};

// The position of a checkpoint is the one before its last window. Nothing to replay at the very
// start of an epoch, where the epoch is what counts.
class ReplayOne final : public DataPosition {
 public:
  using DataPosition::DataPosition;
  void Save(StateView& view) const override {
    Observe(view);
    const std::int64_t window = kAccumulation * kMicroStepSamples;
    view.scalars["data.position"] = std::to_string(std::max<std::int64_t>(0, position_ - window));
  }
};

// The schedule is not part of what is restored: it warms up again.
class LrRestart final : public Schedule {
 public:
  using Schedule::Schedule;
  Status Load(StateSource&) override { return {}; }
};

template <typename T>
std::unique_ptr<DataPosition> MakeData(const Options& options) {
  return std::make_unique<T>(options);
}

}  // namespace

MutantInfo DataRestartMutant() {
  return {"data-restart", "M01", "the loader starts at its first batch again",
          [](Recipe& recipe) { recipe.data = MakeData<DataRestart>; }};
}

MutantInfo ReplayOneMutant() {
  return {"replay-one", "M02", "the position is saved before it was advanced",
          [](Recipe& recipe) { recipe.data = MakeData<ReplayOne>; }};
}

MutantInfo LrRestartMutant() {
  return {"lr-restart", "M26", "the schedule is not restored", [](Recipe& recipe) {
            recipe.schedule = [](const Options& options) -> std::unique_ptr<Schedule> {
              return std::make_unique<LrRestart>(options);
            };
          }};
}

}  // namespace reprise::models
