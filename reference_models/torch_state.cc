#include "reference_models/torch_state.h"

#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "harness/base/check.h"
#include "harness/base/random.h"
#include "harness/model/float_bits.h"
#include "reference_models/sizes.h"

namespace reprise::models {
namespace {

constexpr double kInitStd = 0.02;  // a tied matrix of std 1 saturates the softmax
constexpr double kBeta1 = 0.9;
constexpr double kBeta2 = 0.95;
constexpr double kEpsilon = 1e-8;

DType DTypeOf(const at::Tensor& tensor) {
  const bool is_float = tensor.scalar_type() == at::kFloat;
  REPRISE_CHECK(is_float || tensor.scalar_type() == at::kByte, "a float or byte tensor expected");
  return is_float ? DType::kF32 : DType::kU8;
}

std::size_t ByteCount(const at::Tensor& tensor) {
  return static_cast<std::size_t>(tensor.nbytes());
}

// Collects the parameters of the model in the order in which transformer.cc uses them.
class Initialiser {
 public:
  explicit Initialiser(const Options& options)
      : generator_(at::detail::createCPUGenerator(Random(options.seed).Split("init").Next())),
        device_(options.device),
        width_(options.width) {}

  void Matrix(const std::string& path, std::int64_t rows, std::int64_t columns) {
    Add(path, at::empty({rows, columns}).normal_(0.0, kInitStd, generator_), true);
  }
  void Vector(const std::string& path, std::int64_t size, double value) {
    Add(path, at::full({size}, value), false);
  }
  void Linear(const std::string& path, std::int64_t outputs, std::int64_t inputs) {
    Matrix(path + ".weight", outputs, inputs);
    Vector(path + ".bias", outputs, 0.0);
  }
  void Norm(const std::string& path) {
    Vector(path + ".weight", width_, 1.0);
    Vector(path + ".bias", width_, 0.0);
  }

  std::vector<Parameter> Take() { return std::move(parameters_); }

 private:
  void Add(const std::string& path, const at::Tensor& value, bool decays) {
    parameters_.push_back({path, value.to(device_).set_requires_grad(true), decays});
  }

  at::Generator generator_;
  at::Device device_;
  std::int64_t width_;
  std::vector<Parameter> parameters_;
};

}  // namespace

Result<at::Device> FindDevice(const std::string& name) {
  if (name == "cpu") return at::Device(at::kCPU);
  const bool is_cuda = name == "cuda" || name.starts_with("cuda:");
  if (!is_cuda) {
    return Fail(ErrorCode::kUsage,
                fmt::format("--device \"{}\" is unknown, expected cpu or cuda[:N]", name));
  }
  if (!at::hasCUDA()) {
    return Fail(
        ErrorCode::kUnsupported,
        fmt::format("--device {}: this libtorch has no CUDA or finds no device; use cpu", name));
  }
  try {
    return at::Device(name);
  } catch (const std::exception& error) {
    return Fail(ErrorCode::kUsage, fmt::format("--device {}: {}", name, error.what()));
  }
}

void AddTensor(StateView& view, TensorRecord record, const at::Tensor& tensor) {
  const auto held = std::make_shared<at::Tensor>(tensor.detach().cpu().contiguous());
  const std::span bytes(static_cast<const std::byte*>(held->data_ptr()), ByteCount(*held));
  view.tensors.push_back({std::move(record), bytes, held});
}

Status ReadTensor(StateSource& source, const TensorRecord& record, at::Tensor tensor) {
  const c10::NoGradGuard no_grad;
  const at::Tensor read =
      at::empty(tensor.sizes(), tensor.options().device(at::kCPU).requires_grad(false));
  if (read.numel() > 0) {
    REPRISE_RETURN_IF_ERROR(
        source.Read(record, {static_cast<std::byte*>(read.data_ptr()), ByteCount(read)}));
  }
  tensor.copy_(read);
  return {};
}

TensorRecord RecordOf(const std::string& component, const std::string& kind,
                      const std::string& path, const at::Tensor& whole) {
  const Shape shape = whole.sizes().vec();
  TensorRecord record;
  record.component = component;
  record.kind = kind;
  record.path = path;
  record.dtype = DTypeOf(whole);
  record.global_shape = shape;
  record.slice = Slice::Whole(shape);
  return record;
}

TensorRecord RecordOfRows(const std::string& component, const std::string& kind,
                          const std::string& path, const at::Tensor& whole, const RowRange& rows) {
  TensorRecord record = RecordOf(component, kind, path, whole);
  record.slice = SliceOfRows(record.global_shape, rows);
  return record;
}

// --- weights -------------------------------------------------------------------------------------

Weights::Weights(const Options& options) : place_(options.place) {
  Initialiser init(options);
  const std::int64_t width = options.width;
  init.Matrix("embedding.weight", kVocabulary, width);
  init.Matrix("position.weight", kContext, width);
  for (std::int64_t layer = 0; layer < options.layers; ++layer) {
    const std::string block = fmt::format("blocks.{}.", layer);
    init.Norm(block + "norm1");
    init.Linear(block + "attn.qkv", 3 * width, width);
    init.Linear(block + "attn.out", width, width);
    init.Norm(block + "norm2");
    init.Linear(block + "mlp.up", 4 * width, width);
    init.Linear(block + "mlp.down", width, 4 * width);
  }
  init.Norm("norm");
  init.Vector("logit_scale", 1, 1.0);  // fewer rows than ranks
  parameters_ = init.Take();
  head_ = parameters_[0].value;
}

RowRange Weights::Rows(std::size_t i) const {
  return RowsOf(place_.rank, place_.world, parameters_[i].value.size(0));
}

at::Tensor Weights::OwnRows(std::size_t i) const {
  const RowRange rows = Rows(i);
  return parameters_[i].value.detach().narrow(0, rows.begin, rows.Count());
}

Status Weights::ExchangeRows(Collective& collective) {
  std::vector<at::Tensor> parts;
  std::vector<at::Tensor> wholes;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    parts.push_back(OwnRows(i));
    wholes.push_back(parameters_[i].value.detach());
  }
  return GatherRows(collective, parts, wholes);
}

void Weights::Observe(StateView& view) const {
  for (const Parameter& parameter : parameters_) {
    TensorRecord record = RecordOf("weights", "weight", parameter.path, parameter.value);
    record.replica_index = place_.rank;
    record.replica_count = place_.world;
    AddTensor(view, record, parameter.value);
  }
  TensorRecord head = RecordOf("weights", "weight", "head.weight", head_);
  head.replica_index = place_.rank;
  head.replica_count = place_.world;
  if (head_.is_alias_of(parameters_[0].value)) head.alias_of = "weight/" + parameters_[0].path;
  AddTensor(view, head, head_);
}

void Weights::Save(StateView& view) const {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    AddTensor(view, RecordOfRows("weights", "weight", parameter.path, parameter.value, Rows(i)),
              OwnRows(i));
  }
}

Status Weights::Load(StateSource& source) {
  for (const Parameter& parameter : parameters_) {
    REPRISE_RETURN_IF_ERROR(
        ReadTensor(source, RecordOf("weights", "weight", parameter.path, parameter.value),
                   parameter.value.detach()));
  }
  return {};
}

Status GatherRows(Collective& collective, const std::vector<at::Tensor>& parts,
                  const std::vector<at::Tensor>& wholes) {
  const int world = collective.World();
  if (world == 1) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!parts[i].is_alias_of(wholes[i])) at::Tensor(wholes[i]).copy_(parts[i]);
    }
    return {};
  }
  std::string mine;
  std::size_t most = 0;  // bytes of the rank that has most rows; the exchange needs one size
  for (int r = 0; r < world; ++r) {
    std::size_t size = 0;
    for (const at::Tensor& whole : wholes) {
      size += ByteCount(whole) / static_cast<std::size_t>(whole.size(0)) *
              static_cast<std::size_t>(RowsOf(r, world, whole.size(0)).Count());
    }
    most = std::max(most, size);
  }
  mine.reserve(most);
  for (const at::Tensor& part : parts) {
    const at::Tensor bytes = part.cpu().contiguous();
    mine.append(static_cast<const char*>(bytes.data_ptr()), ByteCount(bytes));
  }
  mine.resize(most);
  REPRISE_ASSIGN_OR_RETURN(const auto texts, collective.AllGather(mine));
  for (int r = 0; r < world; ++r) {
    const char* next = texts[static_cast<std::size_t>(r)].data();
    for (const at::Tensor& whole : wholes) {
      const RowRange rows = RowsOf(r, world, whole.size(0));
      if (rows.Count() == 0) continue;
      at::Tensor target = whole.narrow(0, rows.begin, rows.Count());
      const at::Tensor received = at::empty(target.sizes(), at::kFloat);
      std::memcpy(received.data_ptr(), next, ByteCount(received));
      next += ByteCount(received);
      target.copy_(received);
    }
  }
  return {};
}

// --- AdamW ---------------------------------------------------------------------------------------

AdamW::AdamW(const Options& options, const Weights& weights)
    : weights_(weights), weight_decay_(options.weight_decay) {
  for (std::size_t i = 0; i < weights.Parameters().size(); ++i) {
    exp_avg_.push_back(at::zeros_like(weights.OwnRows(i)));
    exp_avg_sq_.push_back(at::zeros_like(weights.OwnRows(i)));
  }
}

void AdamW::Update(const std::vector<at::Tensor>& gradients, double rate) {
  const c10::NoGradGuard no_grad;
  ++step_;
  const double correction1 = 1.0 - std::pow(kBeta1, static_cast<double>(step_));
  const double correction2 = 1.0 - std::pow(kBeta2, static_cast<double>(step_));
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const RowRange rows = weights_.Rows(i);
    if (rows.Count() == 0) continue;
    const at::Tensor gradient = gradients[i].narrow(0, rows.begin, rows.Count());
    exp_avg_[i].mul_(kBeta1).add_(gradient * (1.0 - kBeta1));
    exp_avg_sq_[i].mul_(kBeta2).add_((gradient * gradient).mul_(1.0 - kBeta2));
    const at::Tensor scale = (exp_avg_sq_[i] / correction2).sqrt_().add_(kEpsilon);
    const at::Tensor change = (exp_avg_[i] / correction1).div_(scale).mul_(rate);
    at::Tensor values = weights_.OwnRows(i);
    if (weights_.Parameters()[i].decays) values.mul_(1.0 - rate * weight_decay_);
    values.sub_(change);
  }
}

TensorRecord AdamW::Record(const char* kind, std::size_t i) const {
  const Parameter& parameter = weights_.Parameters()[i];
  return RecordOfRows("optimizer.moments", kind, parameter.path, parameter.value, weights_.Rows(i));
}

void AdamW::Observe(StateView& view) const {
  for (std::size_t i = 0; i < exp_avg_.size(); ++i) {
    AddTensor(view, Record("exp_avg", i), exp_avg_[i]);
    AddTensor(view, Record("exp_avg_sq", i), exp_avg_sq_[i]);
  }
  view.scalars["optimizer.step"] = std::to_string(step_);
  view.scalars["optimizer.weight_decay"] = FloatBits::Of(weight_decay_).ToText();
}

Status AdamW::LoadScalars(StateSource& source) {
  REPRISE_ASSIGN_OR_RETURN(step_, source.Integer("optimizer.step"));
  REPRISE_ASSIGN_OR_RETURN(weight_decay_, source.Float("optimizer.weight_decay"));
  return {};
}

Status AdamW::LoadMoments(StateSource& source) {
  for (std::size_t i = 0; i < exp_avg_.size(); ++i) {
    REPRISE_RETURN_IF_ERROR(ReadTensor(source, Record("exp_avg", i), exp_avg_[i]));
    REPRISE_RETURN_IF_ERROR(ReadTensor(source, Record("exp_avg_sq", i), exp_avg_sq_[i]));
  }
  return {};
}

Status AdamW::Load(StateSource& source) {
  REPRISE_RETURN_IF_ERROR(LoadScalars(source));
  return LoadMoments(source);
}

// --- averaged weights ----------------------------------------------------------------------------

Ema::Ema(const Options& options, const Weights& weights)
    : weights_(weights), decay_(options.ema_decay) {
  for (std::size_t i = 0; i < weights.Parameters().size(); ++i) {
    averages_.push_back(weights.OwnRows(i).clone());
  }
}

void Ema::Update() {
  const c10::NoGradGuard no_grad;
  const auto done = static_cast<double>(updates_++);
  const double decay = std::min(decay_, (1.0 + done) / (10.0 + done));
  for (std::size_t i = 0; i < averages_.size(); ++i) {
    averages_[i].mul_(decay).add_(weights_.OwnRows(i) * (1.0 - decay));
  }
}

Result<std::vector<at::Tensor>> Ema::GatherWhole(Collective& collective) const {
  std::vector<at::Tensor> wholes;
  for (const Parameter& parameter : weights_.Parameters()) {
    wholes.push_back(at::empty_like(parameter.value.detach()));
  }
  REPRISE_RETURN_IF_ERROR(GatherRows(collective, averages_, wholes));
  return wholes;
}

TensorRecord Ema::Record(std::size_t i) const {
  const Parameter& parameter = weights_.Parameters()[i];
  return RecordOfRows("ema", "ema", parameter.path, parameter.value, weights_.Rows(i));
}

void Ema::Observe(StateView& view) const {
  for (std::size_t i = 0; i < averages_.size(); ++i) {
    AddTensor(view, Record(i), averages_[i]);
  }
  view.scalars["ema.updates"] = std::to_string(updates_);
  view.scalars["ema.decay"] = FloatBits::Of(decay_).ToText();
}

Status Ema::Load(StateSource& source) {
  REPRISE_ASSIGN_OR_RETURN(updates_, source.Integer("ema.updates"));
  REPRISE_ASSIGN_OR_RETURN(decay_, source.Float("ema.decay"));
  for (std::size_t i = 0; i < averages_.size(); ++i) {
    REPRISE_RETURN_IF_ERROR(ReadTensor(source, Record(i), averages_[i]));
  }
  return {};
}

// --- RNG -----------------------------------------------------------------------------------------

RngStreams::RngStreams(const Options& options)
    : workers_(RowsOf(options.place.rank, options.place.world, kWorkerCount)) {
  for (std::int64_t worker = workers_.begin; worker < workers_.end; ++worker) {
    const std::uint64_t seed = Random(options.seed).Split(fmt::format("worker-{}", worker)).Next();
    generators_.push_back(at::detail::createCPUGenerator(seed));
  }
}

at::Generator& RngStreams::Of(std::int64_t worker) {
  return generators_.at(static_cast<std::size_t>(worker - workers_.begin));
}

void RngStreams::Observe(StateView& view) const {
  for (std::size_t i = 0; i < generators_.size(); ++i) {
    const at::Tensor state = generators_[i].get_state();
    const std::string path = fmt::format("worker-{}", workers_.begin + static_cast<int>(i));
    AddTensor(view, RecordOf("rng.torch", "rng", path, state), state);
  }
}

Status RngStreams::Load(StateSource& source) {
  for (std::size_t i = 0; i < generators_.size(); ++i) {
    const at::Tensor state = generators_[i].get_state();
    const std::string path = fmt::format("worker-{}", workers_.begin + static_cast<int>(i));
    REPRISE_RETURN_IF_ERROR(ReadTensor(source, RecordOf("rng.torch", "rng", path, state), state));
    generators_[i].set_state(state);
  }
  return {};
}

}  // namespace reprise::models
