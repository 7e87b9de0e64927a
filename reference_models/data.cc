#include "reference_models/data.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "harness/base/check.h"
#include "harness/base/files.h"
#include "harness/base/random.h"
#include "reference_models/sizes.h"

namespace reprise::models {
namespace {

constexpr std::uint64_t kMaxCorpusBytes = 64 << 20;
constexpr std::size_t kMinCorpusBytes = 4096;

}  // namespace

Result<Corpus> Corpus::Read(const std::string& path) {
  REPRISE_ASSIGN_OR_RETURN(std::string text, ReadFile(path, kMaxCorpusBytes));
  if (text.size() < kMinCorpusBytes) {
    return Fail(
        ErrorCode::kInvalidInput,
        fmt::format("the corpus has {} bytes, expected at least {}", text.size(), kMinCorpusBytes),
        path);
  }
  const auto odd = std::find_if(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) >= kVocabulary;
  });
  if (odd != text.end()) {
    return Fail(ErrorCode::kInvalidInput,
                fmt::format("byte {} is not ASCII; the model knows {} symbols", odd - text.begin(),
                            kVocabulary),
                path);
  }
  return Corpus(std::move(text));
}

std::int64_t Corpus::TrainingBytes() const {
  return static_cast<std::int64_t>(text_.size() - text_.size() / 10);
}

std::string_view Corpus::Sample(std::int64_t id, std::int64_t count) const {
  REPRISE_CHECK(id >= 0 && id < count, fmt::format("sample {} of {}", id, count));
  const std::int64_t starts = TrainingBytes() - kContext - 1;
  return std::string_view(text_).substr(static_cast<std::size_t>(id * starts / count),
                                        static_cast<std::size_t>(kContext + 1));
}

std::string_view Corpus::HeldOut(std::int64_t id, std::int64_t count) const {
  REPRISE_CHECK(id >= 0 && id < count, fmt::format("held-out sample {} of {}", id, count));
  const std::int64_t starts =
      static_cast<std::int64_t>(text_.size()) - TrainingBytes() - kContext - 1;
  return std::string_view(text_).substr(
      static_cast<std::size_t>(TrainingBytes() + id * starts / count),
      static_cast<std::size_t>(kContext + 1));
}

Status DataPosition::Check(const Options& options) {
  if (options.epoch_samples % kMicroStepSamples == 0) return {};
  return Fail(ErrorCode::kUsage,
              fmt::format("--epoch-samples {} is not a multiple of {} ({} workers x micro-batches "
                          "of {})",
                          options.epoch_samples, kMicroStepSamples, kWorkerCount, kMicroBatch));
}

DataPosition::DataPosition(const Options& options)
    : seed_(options.seed), sample_count_(options.epoch_samples) {
  Shuffle();
}

// Not std::shuffle: its result differs between standard libraries.
void DataPosition::Shuffle() {
  order_.resize(static_cast<std::size_t>(sample_count_));
  std::iota(order_.begin(), order_.end(), 0);
  Random random = Random(seed_).Split(fmt::format("epoch-{}", epoch_));
  for (std::size_t i = order_.size(); i > 1; --i) {
    std::swap(order_[i - 1], order_[random.Below(i)]);
  }
}

std::int64_t DataPosition::MicroCount() const {
  return std::min(kAccumulation, (sample_count_ - position_) / kMicroStepSamples);
}

std::vector<std::int64_t> DataPosition::Ids(std::int64_t micro, std::int64_t worker) const {
  const std::int64_t first = position_ + micro * kMicroStepSamples + worker * kMicroBatch;
  REPRISE_CHECK(first + kMicroBatch <= sample_count_,
                fmt::format("samples from {} of {}", first, sample_count_));
  const auto begin = order_.begin() + first;
  return {begin, begin + kMicroBatch};
}

void DataPosition::Advance() {
  position_ += MicroCount() * kMicroStepSamples;
  if (position_ < sample_count_) return;
  position_ = 0;
  ++epoch_;
  Shuffle();
}

void DataPosition::Observe(StateView& view) const {
  view.scalars["data.epoch"] = std::to_string(epoch_);
  view.scalars["data.position"] = std::to_string(position_);
  view.scalars["data.samples"] = std::to_string(sample_count_);
  view.scalars["data.seed"] = std::to_string(static_cast<std::int64_t>(seed_));
}

Status DataPosition::Load(StateSource& source) {
  REPRISE_ASSIGN_OR_RETURN(const std::int64_t seed, source.Integer("data.seed"));
  REPRISE_ASSIGN_OR_RETURN(const std::int64_t samples, source.Integer("data.samples"));
  REPRISE_ASSIGN_OR_RETURN(const std::int64_t epoch, source.Integer("data.epoch"));
  REPRISE_ASSIGN_OR_RETURN(const std::int64_t position, source.Integer("data.position"));
  if (samples < kMicroStepSamples || samples > (1 << 24) || samples % kMicroStepSamples != 0 ||
      position >= samples || position % kMicroStepSamples != 0) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("data.position {} of {} samples is not on a micro-step of {}", position,
                            samples, kMicroStepSamples));
  }
  seed_ = static_cast<std::uint64_t>(seed);
  sample_count_ = samples;
  epoch_ = epoch;
  position_ = position;
  Shuffle();
  return {};
}

}  // namespace reprise::models
