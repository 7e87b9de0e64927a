// The model: a decoder-only transformer with pre-norm blocks and a tied head.

#ifndef REPRISE_REFERENCE_MODELS_TRANSFORMER_H_
#define REPRISE_REFERENCE_MODELS_TRANSFORMER_H_

#include <ATen/ATen.h>

#include <string_view>
#include <vector>

namespace reprise::models {

// The tokens of some samples, [samples, kContext + 1] of int64, on `device`. REQUIRES: each text
// has kContext + 1 bytes below kVocabulary.
at::Tensor TokensOf(const std::vector<std::string_view>& texts, at::Device device);

// Mean cross-entropy of predicting each next token, a scalar. `parameters`: in the order of
// Weights; `head`: output matrix. Dropout draws from `generator`; none (evaluation) when it is
// null. Touches no global generator.
at::Tensor LossOf(const std::vector<at::Tensor>& parameters, const at::Tensor& head,
                  const at::Tensor& tokens, at::Generator* generator);

}  // namespace reprise::models

#endif  // REPRISE_REFERENCE_MODELS_TRANSFORMER_H_
