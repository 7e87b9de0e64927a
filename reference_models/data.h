// The data of the training: a text cut into samples, and the position in a shuffled epoch.

#ifndef REPRISE_REFERENCE_MODELS_DATA_H_
#define REPRISE_REFERENCE_MODELS_DATA_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "reference_models/component.h"
#include "reference_models/options.h"

namespace reprise::models {

// The last tenth of the text is held out for evaluation.
class Corpus {
 public:
  // kInvalidInput for a text that is too short or not ASCII.
  static Result<Corpus> Read(const std::string& path);

  // The kContext + 1 bytes of sample `id` of `count` samples spread evenly over the training part.
  [[nodiscard]] std::string_view Sample(std::int64_t id, std::int64_t count) const;
  // The same of the held-out part.
  [[nodiscard]] std::string_view HeldOut(std::int64_t id, std::int64_t count) const;

 private:
  explicit Corpus(std::string text) : text_(std::move(text)) {}
  [[nodiscard]] std::int64_t TrainingBytes() const;

  std::string text_;
};

// Which samples come next. An epoch is a permutation that depends on (seed, epoch) alone; a window
// is what one optimizer step consumes, and the last window of an epoch may be a partial one.
class DataPosition : public Component {
 public:
  // kUsage unless the epoch consists of whole micro-steps.
  static Status Check(const Options& options);
  explicit DataPosition(const Options& options);

  [[nodiscard]] std::int64_t Epoch() const { return epoch_; }
  [[nodiscard]] bool AtEpochStart() const { return position_ == 0; }
  [[nodiscard]] std::int64_t SampleCount() const { return sample_count_; }

  // Micro-batches that each worker has in the coming window: kAccumulation, or what is left.
  [[nodiscard]] std::int64_t MicroCount() const;
  // Samples of one of them. REQUIRES: micro < MicroCount().
  [[nodiscard]] std::vector<std::int64_t> Ids(std::int64_t micro, std::int64_t worker) const;
  // The window is consumed.
  void Advance();

  void Observe(StateView& view) const override;
  Status Load(StateSource& source) override;

 protected:
  void Shuffle();

  std::uint64_t seed_;
  std::int64_t sample_count_;
  std::int64_t epoch_ = 0;
  std::int64_t position_ = 0;  // samples of this epoch that are consumed

 private:
  std::vector<std::int64_t> order_;
};

}  // namespace reprise::models

#endif  // REPRISE_REFERENCE_MODELS_DATA_H_
