// Sizes of the reference transformer: small, since a campaign runs hundreds of lives, and odd
// enough that no tensor's rows divide evenly by 3.

#ifndef REPRISE_REFERENCE_MODELS_SIZES_H_
#define REPRISE_REFERENCE_MODELS_SIZES_H_

#include <cstdint>

#include "reference_models/options.h"

namespace reprise::models {

inline constexpr std::int64_t kVocabulary = 128;  // ASCII
inline constexpr std::int64_t kHeadCount = 2;
inline constexpr std::int64_t kContext = 20;      // tokens a sample predicts
inline constexpr std::int64_t kMicroBatch = 2;    // samples of one worker in one forward
inline constexpr std::int64_t kAccumulation = 2;  // micro-batches of one worker in a full window
inline constexpr double kDropout = 0.1;
inline constexpr double kClipNorm = 0.5;

// Samples that all workers together use in one micro-step.
inline constexpr std::int64_t kMicroStepSamples = kWorkerCount * kMicroBatch;

}  // namespace reprise::models

#endif  // REPRISE_REFERENCE_MODELS_SIZES_H_
