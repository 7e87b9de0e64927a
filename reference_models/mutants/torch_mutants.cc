// Faults of the components that are tensors. One file, since each torch file takes long to compile.

#include <algorithm>
#include <memory>

#include "reference_models/mutants/mutant.h"
#include "reference_models/torch_state.h"

namespace reprise::models {
namespace {

// Nothing but the counters is saved.
class NoMoments final : public AdamW {
 public:
  using AdamW::AdamW;
  void Save(StateView& view) const override {
    StateView all;
    Observe(all);
    view.scalars.merge(all.scalars);
  }
  Status Load(StateSource& source) override { return LoadScalars(source); }
};

// Saved, but a fresh optimizer has no moments yet, so its load template does not ask for them.
class MomentsUnread final : public AdamW {
 public:
  using AdamW::AdamW;
  Status Load(StateSource& source) override { return LoadScalars(source); }
};

// The bias correction starts again.
class AdamStepReset final : public AdamW {
 public:
  using AdamW::AdamW;
  Status Load(StateSource& source) override {
    REPRISE_RETURN_IF_ERROR(AdamW::Load(source));
    step_ = 0;
    return {};
  }
};

// Through the 16-bit type of a half-precision model and back.
class MomentsCast final : public AdamW {
 public:
  using AdamW::AdamW;
  Status Load(StateSource& source) override {
    REPRISE_RETURN_IF_ERROR(AdamW::Load(source));
    for (auto* moments : {&exp_avg_, &exp_avg_sq_}) {
      for (at::Tensor& moment : *moments) {
        moment = moment.to(at::kBFloat16).to(at::kFloat);
      }
    }
    return {};
  }
};

// State is matched by index, and the parameters are enumerated in another order in a new process:
// those of one shape change places.
class ParamOrder final : public AdamW {
 public:
  using AdamW::AdamW;
  Status Load(StateSource& source) override {
    REPRISE_RETURN_IF_ERROR(AdamW::Load(source));
    const auto& parameters = weights_.Parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!parameters[i].path.starts_with("blocks.0.")) continue;
      const std::string other = "blocks.1." + parameters[i].path.substr(9);
      const auto found =
          std::find_if(parameters.begin(), parameters.end(),
                       [&other](const Parameter& parameter) { return parameter.path == other; });
      const auto j = static_cast<std::size_t>(found - parameters.begin());
      std::swap(exp_avg_.at(i), exp_avg_.at(j));
      std::swap(exp_avg_sq_.at(i), exp_avg_sq_.at(j));
    }
    return {};
  }
};

// Seeded at the start and never saved.
class RngLost final : public RngStreams {
 public:
  using RngStreams::RngStreams;
  void Save(StateView&) const override {}
  Status Load(StateSource&) override { return {}; }
};

// Everyone reads what worker 0 has saved.
class RngRankZero final : public RngStreams {
 public:
  using RngStreams::RngStreams;
  Status Load(StateSource& source) override {
    for (at::Generator& generator : generators_) {
      const at::Tensor state = generator.get_state();
      REPRISE_RETURN_IF_ERROR(
          ReadTensor(source, RecordOf("rng.torch", "rng", "worker-0", state), state));
      generator.set_state(state);
    }
    return {};
  }
};

// The averages begin again as a copy of the restored weights.
class EmaLost final : public Ema {
 public:
  using Ema::Ema;
  void Save(StateView&) const override {}
  Status Load(StateSource&) override {
    updates_ = 0;
    for (std::size_t i = 0; i < averages_.size(); ++i) {
      averages_[i].copy_(weights_.OwnRows(i));
    }
    return {};
  }
};

// The averages are restored, the counter of their warm-up is not.
class EmaCounter final : public Ema {
 public:
  using Ema::Ema;
  Status Load(StateSource& source) override {
    REPRISE_RETURN_IF_ERROR(Ema::Load(source));
    updates_ = 0;
    return {};
  }
};

// The matrix is saved once and loaded as two; the optimizer knows only the first.
class Untied final : public Weights {
 public:
  using Weights::Weights;
  Status Load(StateSource& source) override {
    REPRISE_RETURN_IF_ERROR(Weights::Load(source));
    head_ = parameters_[0].value.detach().clone().set_requires_grad(true);
    return {};
  }
};

template <typename T>
std::unique_ptr<AdamW> MakeAdamW(const Options& options, const Weights& weights) {
  return std::make_unique<T>(options, weights);
}

template <typename T>
std::unique_ptr<Ema> MakeEma(const Options& options, const Weights& weights) {
  return std::make_unique<T>(options, weights);
}

template <typename T>
std::unique_ptr<RngStreams> MakeRng(const Options& options) {
  return std::make_unique<T>(options);
}

}  // namespace

MutantInfo NoMomentsMutant() {
  return {"no-moments", "M41", "the optimizer's moments are not saved",
          [](Recipe& recipe) { recipe.optimizer = MakeAdamW<NoMoments>; }};
}

MutantInfo MomentsUnreadMutant() {
  return {"moments-unread", "M42", "the moments are in the file and never read",
          [](Recipe& recipe) { recipe.optimizer = MakeAdamW<MomentsUnread>; }};
}

MutantInfo AdamStepResetMutant() {
  return {"adam-step-reset", "M50", "the moments are restored, the optimizer's step is 0",
          [](Recipe& recipe) { recipe.optimizer = MakeAdamW<AdamStepReset>; }};
}

MutantInfo MomentsCastMutant() {
  return {"moments-cast", "M52", "the moments pass through 16 bits",
          [](Recipe& recipe) { recipe.optimizer = MakeAdamW<MomentsCast>; }};
}

MutantInfo ParamOrderMutant() {
  return {"param-order", "M47", "moments are attached to other parameters of the same shape",
          [](Recipe& recipe) { recipe.optimizer = MakeAdamW<ParamOrder>; }};
}

MutantInfo RngLostMutant() {
  return {"rng-lost", "M35", "the generators' states are not saved",
          [](Recipe& recipe) { recipe.rng = MakeRng<RngLost>; }};
}

MutantInfo RngRankZeroMutant() {
  return {"rng-rank0", "M38", "all workers restore the generator of worker 0",
          [](Recipe& recipe) { recipe.rng = MakeRng<RngRankZero>; }};
}

MutantInfo EmaLostMutant() {
  return {"ema-lost", "M61", "the averaged weights are not saved",
          [](Recipe& recipe) { recipe.ema = MakeEma<EmaLost>; }};
}

MutantInfo EmaCounterMutant() {
  return {"ema-counter", "M62", "the averages are restored, their update counter is 0",
          [](Recipe& recipe) { recipe.ema = MakeEma<EmaCounter>; }};
}

MutantInfo UntiedMutant() {
  return {"untied", "M66", "embedding and head are two tensors after the load", [](Recipe& recipe) {
            recipe.weights = [](const Options& options) -> std::unique_ptr<Weights> {
              return std::make_unique<Untied>(options);
            };
          }};
}

}  // namespace reprise::models
