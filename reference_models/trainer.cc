// One life of the training: join, restore, train, save.
//
// The trajectory is bit-equal at any world size, since no operation sees it: the arithmetic of an
// update is cut into kWorkerCount logical workers, each computed alone with its own generator and
// always in the same shapes, and what they deliver is gathered and added in worker order (a ring
// all-reduce would add in an order that depends on the number of ranks).

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/version.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <tuple>
#include <utility>

#include "probes/cpp/reprise_probe.h"
#include "reference_models/collective.h"
#include "reference_models/data.h"
#include "reference_models/recipe.h"
#include "reference_models/saver.h"
#include "reference_models/schedule.h"
#include "reference_models/sizes.h"
#include "reference_models/torch_state.h"
#include "reference_models/transformer.h"

namespace reprise::models {
namespace {

constexpr std::int64_t kEvalSamples = 4;

// Gradients of all parameters in one row, and the loss behind them.
class FlatGradient {
 public:
  explicit FlatGradient(const std::vector<Parameter>& parameters) {
    for (const Parameter& parameter : parameters) {
      values_.push_back(parameter.value);
      size_ += parameter.value.numel();
    }
  }

  [[nodiscard]] std::int64_t Size() const { return size_ + 1; }
  [[nodiscard]] const std::vector<at::Tensor>& Values() const { return values_; }

  [[nodiscard]] at::Tensor Of(const at::Tensor& loss) const {
    std::vector<at::Tensor> parts;
    for (const at::Tensor& gradient : torch::autograd::grad({loss}, values_)) {
      parts.push_back(gradient.reshape({-1}));
    }
    parts.push_back(loss.detach().reshape({1}));
    return at::cat(parts);
  }

  // Views of the parts of `flat`, one a parameter.
  [[nodiscard]] std::vector<at::Tensor> Split(const at::Tensor& flat) const {
    std::vector<at::Tensor> parts;
    std::int64_t offset = 0;
    for (const at::Tensor& value : values_) {
      parts.push_back(flat.narrow(0, offset, value.numel()).view(value.sizes()));
      offset += value.numel();
    }
    return parts;
  }

 private:
  std::vector<at::Tensor> values_;
  std::int64_t size_ = 0;
};

probe::TensorView ViewOf(const StateTensor& tensor) {
  const TensorRecord& record = tensor.record;
  return {.component = record.component,
          .kind = record.kind,
          .path = record.path,
          .dtype = std::string(ToText(record.dtype)),
          .global_shape = record.global_shape,
          .offsets = record.slice.offsets,
          .extents = record.slice.extents,
          .data = tensor.bytes.data(),
          .replica_index = record.replica_index,
          .replica_count = record.replica_count,
          .alias_of = record.alias_of};
}

class Trainer {
 public:
  Trainer(const Options& options, const Recipe& recipe, Corpus corpus, FormatPtr saver_format,
          FormatPtr restorer_format, std::unique_ptr<Collective> collective, probe::Logbook logbook)
      : options_(options),
        device_(options.device),
        corpus_(std::move(corpus)),
        collective_(std::move(collective)),
        logbook_(std::move(logbook)),
        weights_(recipe.weights(options)),
        optimizer_(recipe.optimizer(options, *weights_)),
        ema_(recipe.ema(options, *weights_)),
        rng_(recipe.rng(options)),
        schedule_(recipe.schedule(options)),
        data_(recipe.data(options)),
        step_("step"),
        saver_(recipe.saver(std::move(saver_format))),
        restorer_(recipe.restorer(std::move(restorer_format))),
        flat_(weights_->Parameters()) {}

  Status Run() {
    REPRISE_RETURN_IF_ERROR(Restore());
    while (step_.Value() < options_.steps) {
      if (data_->AtEpochStart()) logbook_.Epoch(step_.Value(), data_->Epoch());
      REPRISE_RETURN_IF_ERROR(Step());
      const std::int64_t step = step_.Value();
      if (step % options_.eval_every == 0) REPRISE_RETURN_IF_ERROR(Evaluate());
      if (step % options_.save_every == 0 || step == options_.steps)
        REPRISE_RETURN_IF_ERROR(Save());
    }
    logbook_.End(step_.Value());
    return {};
  }

 private:
  std::vector<Component*> Components() {
    return {weights_.get(),  optimizer_.get(), ema_.get(), rng_.get(),
            schedule_.get(), data_.get(),      &step_};
  }

  Status Restore() {
    Restored restored;
    if (!options_.checkpoint_folder.empty()) {
      REPRISE_ASSIGN_OR_RETURN(
          restored, restorer_->Restore(options_.checkpoint_folder, Components(), *collective_));
    }
    logbook_.Restored(step_.Value(), restored.name, restored.refused);
    RecordState("restored");
    RecordState("ready");
    logbook_.Ready(step_.Value());
    return {};
  }

  void RecordState(const char* reading) {
    if (!logbook_.IsActive()) return;
    StateView state;
    for (const Component* component : Components()) {
      component->Observe(state);
    }
    std::vector<probe::TensorView> views;
    views.reserve(state.tensors.size());
    for (const StateTensor& tensor : state.tensors) {
      views.push_back(ViewOf(tensor));
    }
    logbook_.State(reading, step_.Value(), views, state.scalars);
  }

  Status Step() {
    const std::int64_t micro_count = data_->MicroCount();
    REPRISE_ASSIGN_OR_RETURN(const at::Tensor sum, GatherGradients(micro_count));
    const at::Tensor mean = sum / static_cast<double>(kWorkerCount * micro_count);
    const auto loss = mean[flat_.Size() - 1].item<float>();
    const double rate = schedule_->Rate();
    const std::vector<double> decay = optimizer_->WeightDecay();
    logbook_.Optimizer(step_.Value() + 1);
    optimizer_->Update(flat_.Split(Clip(mean.narrow(0, 0, flat_.Size() - 1))), rate);
    REPRISE_RETURN_IF_ERROR(weights_->ExchangeRows(*collective_));
    ema_->Update();
    schedule_->Advance();
    data_->Advance();
    step_.Advance();
    const std::vector<double> rates(decay.size(), rate);
    logbook_.Step(step_.Value(), loss, rates, decay);
    RecordState("step");
    return {};
  }

  // Gradients and losses, added over the micro-batches of a worker, then over workers in order.
  Result<at::Tensor> GatherGradients(std::int64_t micro_count) {
    const auto row_bytes = static_cast<std::size_t>(flat_.Size()) * sizeof(float);
    const int world = collective_->World();
    std::string mine;
    for (std::int64_t w = rng_->Workers().begin; w < rng_->Workers().end; ++w) {
      const at::Tensor row = WorkerGradient(w, micro_count).cpu();
      mine.append(static_cast<const char*>(row.data_ptr()), row_bytes);
    }
    const auto most = static_cast<std::size_t>((kWorkerCount + world - 1) / world);
    mine.resize(most * row_bytes);
    REPRISE_ASSIGN_OR_RETURN(const auto texts, collective_->AllGather(mine));
    const at::Tensor sum = at::zeros({flat_.Size()});
    for (int r = 0; r < world; ++r) {
      const char* next = texts[static_cast<std::size_t>(r)].data();
      for (std::int64_t i = 0; i < RowsOf(r, world, kWorkerCount).Count(); ++i) {
        const at::Tensor row = at::empty({flat_.Size()});
        std::memcpy(row.data_ptr(), next, row_bytes);
        sum.add_(row);
        next += row_bytes;
      }
    }
    return sum.to(device_);
  }

  at::Tensor WorkerGradient(std::int64_t worker, std::int64_t micro_count) {
    at::Tensor sum;
    for (std::int64_t micro = 0; micro < micro_count; ++micro) {
      const std::vector<std::int64_t> ids = data_->Ids(micro, worker);
      std::vector<std::string_view> texts;
      std::string content;
      for (const std::int64_t id : ids) {
        texts.push_back(corpus_.Sample(id, data_->SampleCount()));
        content += texts.back();
      }
      logbook_.MicroBatch(step_.Value() + 1, micro, worker, ids, std::as_bytes(std::span(content)));
      const at::Tensor loss =
          LossOf(flat_.Values(), weights_->Head(), TokensOf(texts, device_), &rng_->Of(worker));
      const at::Tensor gradient = flat_.Of(loss);
      sum = sum.defined() ? sum.add_(gradient) : gradient;
    }
    return sum;
  }

  static at::Tensor Clip(const at::Tensor& gradient) {
    const double norm = (gradient * gradient).sum().sqrt().item<float>();
    return norm > kClipNorm ? gradient * (kClipNorm / norm) : gradient;
  }

  Status Evaluate() {
    const c10::NoGradGuard no_grad;
    REPRISE_ASSIGN_OR_RETURN(const auto averages, ema_->GatherWhole(*collective_));
    std::vector<std::string_view> texts;
    for (std::int64_t i = 0; i < kEvalSamples; ++i) {
      texts.push_back(corpus_.HeldOut(i, kEvalSamples));
    }
    const at::Tensor loss = LossOf(averages, averages[0], TokensOf(texts, device_), nullptr);
    logbook_.Eval(step_.Value(), loss.item<float>());
    return {};
  }

  Status Save() {
    if (!options_.save || options_.checkpoint_folder.empty()) return {};
    logbook_.SaveBegin(step_.Value());
    RecordState("request");
    StateView part;
    for (const Component* component : Components()) {
      component->Save(part);
    }
    const SaveRequest request = {
        .folder = options_.checkpoint_folder, .step = step_.Value(), .keep = options_.keep};
    REPRISE_RETURN_IF_ERROR(saver_->Save(request, part, *collective_));
    logbook_.SaveAck(step_.Value());
    return {};
  }

  const Options options_;
  const at::Device device_;
  const Corpus corpus_;
  std::unique_ptr<Collective> collective_;
  probe::Logbook logbook_;
  std::unique_ptr<Weights> weights_;
  std::unique_ptr<AdamW> optimizer_;
  std::unique_ptr<Ema> ema_;
  std::unique_ptr<RngStreams> rng_;
  std::unique_ptr<Schedule> schedule_;
  std::unique_ptr<DataPosition> data_;
  Counter step_;
  std::unique_ptr<Saver> saver_;
  std::unique_ptr<Restorer> restorer_;
  FlatGradient flat_;
};

void SetUpTorch() {
  at::set_num_threads(1);
  at::globalContext().setDeterministicAlgorithms(true, false);
}

std::map<std::string, std::string> Environment(const Options& options) {
  return {{"torch", TORCH_VERSION},
          {"torch.threads", std::to_string(at::get_num_threads())},
          {"torch.deterministic", "true"},
          {"torch.device", options.device},
          {"logical_workers", std::to_string(kWorkerCount)}};
}

Status RunUnguarded(const Options& options, const Recipe& recipe) {
  SetUpTorch();
  REPRISE_RETURN_IF_ERROR(FindDevice(options.device));
  REPRISE_RETURN_IF_ERROR(DataPosition::Check(options));
  const FormatInfo* format = FindFormat(options.format);
  if (format == nullptr) {
    return Fail(ErrorCode::kUsage, fmt::format("--format \"{}\" is unknown", options.format));
  }
  REPRISE_ASSIGN_OR_RETURN(auto corpus, Corpus::Read(options.corpus));
  auto logbook = probe::Logbook::FromEnvironment();
  logbook.Start(Environment(options));
  REPRISE_ASSIGN_OR_RETURN(auto collective, JoinRanks(options.place));
  Trainer trainer(options, recipe, std::move(corpus), format->make(), format->make(),
                  std::move(collective), std::move(logbook));
  return trainer.Run();
}

template <typename T, typename... Arguments>
std::unique_ptr<T> Make(Arguments... arguments) {
  return std::make_unique<T>(std::forward<Arguments>(arguments)...);
}

template <typename Base, typename T>
std::unique_ptr<Base> MakeOver(FormatPtr format) {
  return std::make_unique<T>(std::move(format));
}

}  // namespace

Recipe CorrectRecipe() {
  return {.weights = Make<Weights, const Options&>,
          .optimizer = Make<AdamW, const Options&, const Weights&>,
          .ema = Make<Ema, const Options&, const Weights&>,
          .rng = Make<RngStreams, const Options&>,
          .schedule = Make<Schedule, const Options&>,
          .data = Make<DataPosition, const Options&>,
          .saver = MakeOver<Saver, ShardedSaver>,
          .restorer = MakeOver<Restorer, NewestFirstRestorer>};
}

Status RunTraining(const Options& options, const Recipe& recipe) {
  try {
    return RunUnguarded(options, recipe);
  } catch (const std::exception& error) {
    return Fail(ErrorCode::kSystem, fmt::format("torch: {}", error.what()));
  }
}

void WarmUp() {
  SetUpTorch();
  Options options;
  const Weights weights(options);
  const FlatGradient flat(weights.Parameters());
  RngStreams rng(options);
  const std::string text(static_cast<std::size_t>(kContext + 1), 'a');
  const at::Tensor tokens =
      TokensOf(std::vector<std::string_view>(kMicroBatch, text), at::Device(at::kCPU));
  std::ignore = flat.Of(LossOf(flat.Values(), weights.Head(), tokens, &rng.Of(0)));
}

}  // namespace reprise::models
