#include "reference_models/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "harness/model/float_bits.h"

namespace reprise::models {

Schedule::Schedule(const Options& options)
    : warmup_steps_(options.warmup_steps),
      horizon_steps_(options.horizon_steps),
      base_rate_(options.learning_rate) {}

double Schedule::Rate() const {
  if (step_ < warmup_steps_) {
    return base_rate_ * static_cast<double>(step_ + 1) / static_cast<double>(warmup_steps_);
  }
  const auto length =
      static_cast<double>(std::max<std::int64_t>(1, horizon_steps_ - warmup_steps_));
  const double done = std::min(1.0, static_cast<double>(step_ - warmup_steps_) / length);
  return base_rate_ * (0.1 + 0.9 * 0.5 * (1.0 + std::cos(std::numbers::pi * done)));
}

void Schedule::Observe(StateView& view) const {
  view.scalars["scheduler.step"] = std::to_string(step_);
  view.scalars["scheduler.warmup"] = std::to_string(warmup_steps_);
  view.scalars["scheduler.horizon"] = std::to_string(horizon_steps_);
  view.scalars["scheduler.base_rate"] = FloatBits::Of(base_rate_).ToText();
}

Status Schedule::Load(StateSource& source) {
  REPRISE_ASSIGN_OR_RETURN(step_, source.Integer("scheduler.step"));
  REPRISE_ASSIGN_OR_RETURN(warmup_steps_, source.Integer("scheduler.warmup"));
  REPRISE_ASSIGN_OR_RETURN(horizon_steps_, source.Integer("scheduler.horizon"));
  REPRISE_ASSIGN_OR_RETURN(base_rate_, source.Float("scheduler.base_rate"));
  return {};
}

}  // namespace reprise::models
