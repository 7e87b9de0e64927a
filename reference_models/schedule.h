// The learning rate: linear warm-up, then a cosine down to a tenth.

#ifndef REPRISE_REFERENCE_MODELS_SCHEDULE_H_
#define REPRISE_REFERENCE_MODELS_SCHEDULE_H_

#include <cstdint>

#include "reference_models/component.h"
#include "reference_models/options.h"

namespace reprise::models {

class Schedule : public Component {
 public:
  explicit Schedule(const Options& options);

  // Rate of the coming update.
  [[nodiscard]] double Rate() const;
  void Advance() { ++step_; }

  void Observe(StateView& view) const override;
  Status Load(StateSource& source) override;

 protected:
  std::int64_t step_ = 0;
  std::int64_t warmup_steps_;
  std::int64_t horizon_steps_;
  double base_rate_;
};

}  // namespace reprise::models

#endif  // REPRISE_REFERENCE_MODELS_SCHEDULE_H_
