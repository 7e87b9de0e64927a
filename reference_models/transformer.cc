#include "reference_models/transformer.h"

#include <cmath>
#include <limits>

#include "harness/base/check.h"
#include "reference_models/sizes.h"

namespace reprise::models {
namespace {

// The last norm (two tensors) and the scale of the logits.
constexpr std::size_t kTensorsAfterBlocks = 3;

class Forward {
 public:
  Forward(const std::vector<at::Tensor>& parameters, at::Generator* generator)
      : parameters_(parameters), generator_(generator) {}

  // [samples, kContext] tokens to [samples * kContext, kVocabulary] logits.
  at::Tensor Logits(const at::Tensor& tokens, const at::Tensor& head) {
    const at::Tensor embedding = Next();
    width_ = embedding.size(1);
    at::Tensor x = at::embedding(embedding, tokens) + Next();
    x = Dropout(x.reshape({-1, width_}));
    while (parameters_.size() - next_ > kTensorsAfterBlocks) {
      x = x + Dropout(Attention(Norm(x), tokens.size(0)));
      x = x + Dropout(Linear(at::gelu(Linear(Norm(x)))));
    }
    x = Norm(x);
    return at::mm(x, head.t()) * Next();
  }

 private:
  // Parameters are used in the order in which Weights makes them.
  const at::Tensor& Next() { return parameters_.at(next_++); }

  at::Tensor Linear(const at::Tensor& x) {
    const at::Tensor& weight = Next();
    return at::addmm(Next(), x, weight.t());
  }

  at::Tensor Norm(const at::Tensor& x) {
    const at::Tensor& weight = Next();
    return at::layer_norm(x, {width_}, weight, Next());
  }

  // The mask is always drawn on the CPU, so that it is the same on any device.
  at::Tensor Dropout(const at::Tensor& x) {
    if (generator_ == nullptr) return x;
    const at::Tensor mask =
        at::empty(x.sizes(), at::kFloat).bernoulli_(1.0 - kDropout, *generator_);
    return x * mask.div_(1.0 - kDropout).to(x.device());
  }

  at::Tensor Attention(const at::Tensor& x, std::int64_t samples) {
    const std::int64_t head_width = width_ / kHeadCount;
    const at::Tensor qkv = Linear(x)
                               .view({samples, kContext, 3, kHeadCount, head_width})
                               .permute({2, 0, 3, 1, 4})
                               .reshape({3, samples * kHeadCount, kContext, head_width});
    const at::Tensor scores = at::bmm(qkv[0], qkv[1].transpose(1, 2)) *
                              (1.0 / std::sqrt(static_cast<double>(head_width)));
    const at::Tensor future =
        at::ones({kContext, kContext}, x.options().dtype(at::kBool).requires_grad(false)).triu(1);
    const at::Tensor probabilities =
        at::softmax(scores.masked_fill(future, -std::numeric_limits<double>::infinity()), -1);
    const at::Tensor mixed = at::bmm(probabilities, qkv[2])
                                 .view({samples, kHeadCount, kContext, head_width})
                                 .transpose(1, 2)
                                 .reshape({samples * kContext, width_});
    return Linear(mixed);
  }

  const std::vector<at::Tensor>& parameters_;
  at::Generator* generator_;
  std::size_t next_ = 0;
  std::int64_t width_ = 0;
};

}  // namespace

at::Tensor TokensOf(const std::vector<std::string_view>& texts, at::Device device) {
  const auto count = static_cast<std::int64_t>(texts.size());
  const at::Tensor tokens = at::empty({count, kContext + 1}, at::kLong);
  auto* out = tokens.data_ptr<std::int64_t>();
  for (const std::string_view text : texts) {
    REPRISE_CHECK(text.size() == kContext + 1, std::to_string(text.size()));
    for (const char c : text) {
      *out++ = static_cast<unsigned char>(c);
    }
  }
  return tokens.to(device);
}

at::Tensor LossOf(const std::vector<at::Tensor>& parameters, const at::Tensor& head,
                  const at::Tensor& tokens, at::Generator* generator) {
  Forward forward(parameters, generator);
  const at::Tensor logits = forward.Logits(tokens.narrow(1, 0, kContext), head);
  const at::Tensor targets = tokens.narrow(1, 1, kContext).reshape({-1});
  return at::nll_loss(at::log_softmax(logits, 1), targets);
}

}  // namespace reprise::models
