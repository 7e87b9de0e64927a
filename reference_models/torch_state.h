// The components of state that are tensors: weights, AdamW's moments, averaged weights, RNG
// streams.
//
// Weights are live on every rank and stored by rows, one range of rows a rank; moments and averages
// are sharded by the same rows, live and stored. All arithmetic on them is elementwise and made of
// separately rounded operations (no fused multiply-add, no alpha), so a row's result does not
// depend on how the rows are cut, nor on which device computes it.
//
// Includes torch: only for torch translation units. Functions may throw what torch throws.

#ifndef REPRISE_REFERENCE_MODELS_TORCH_STATE_H_
#define REPRISE_REFERENCE_MODELS_TORCH_STATE_H_

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <vector>

#include "reference_models/collective.h"
#include "reference_models/component.h"
#include "reference_models/options.h"

namespace reprise::models {

// kUnsupported when this libtorch has no such device.
Result<at::Device> FindDevice(const std::string& name);

// Adds `tensor`, which is the box `slice` of a tensor of `global_shape`, to the view. On another
// device than the CPU its bytes are a copy.
void AddTensor(StateView& view, TensorRecord record, const at::Tensor& tensor);
// Reads record.slice from the source into `tensor`, in place.
Status ReadTensor(StateSource& source, const TensorRecord& record, at::Tensor tensor);

// Record of a whole tensor; of rows of it.
TensorRecord RecordOf(const std::string& component, const std::string& kind,
                      const std::string& path, const at::Tensor& whole);
TensorRecord RecordOfRows(const std::string& component, const std::string& kind,
                          const std::string& path, const at::Tensor& whole, const RowRange& rows);

struct Parameter {
  std::string path;  // "blocks.0.attn.qkv.weight"
  at::Tensor value;  // a leaf that requires a gradient
  bool decays;       // its parameter group: matrices decay; biases, norms and scales do not
};

class Weights : public Component {
 public:
  explicit Weights(const Options& options);

  [[nodiscard]] const std::vector<Parameter>& Parameters() const { return parameters_; }
  // The output matrix: the embedding itself, not a copy.
  [[nodiscard]] const at::Tensor& Head() const { return head_; }
  // Rows of parameter `i` that this rank updates, as a view of its value.
  [[nodiscard]] RowRange Rows(std::size_t i) const;
  [[nodiscard]] at::Tensor OwnRows(std::size_t i) const;

  // After each rank has updated its rows: every rank gets all rows.
  Status ExchangeRows(Collective& collective);

  void Observe(StateView& view) const override;
  void Save(StateView& view) const override;
  Status Load(StateSource& source) override;

 protected:
  Place place_;
  std::vector<Parameter> parameters_;
  at::Tensor head_;
};

// Gathers rows: `parts[i]` are this rank's rows of whole tensor i, `wholes[i]` gets everyone's.
Status GatherRows(Collective& collective, const std::vector<at::Tensor>& parts,
                  const std::vector<at::Tensor>& wholes);

class AdamW : public Component {
 public:
  AdamW(const Options& options, const Weights& weights);

  // Updates this rank's rows of the weights. `gradients`: one a parameter, whole, clipped.
  void Update(const std::vector<at::Tensor>& gradients, double rate);
  // Weight decay of the two parameter groups.
  [[nodiscard]] std::vector<double> WeightDecay() const { return {weight_decay_, 0.0}; }

  void Observe(StateView& view) const override;
  Status Load(StateSource& source) override;

 protected:
  Status LoadScalars(StateSource& source);
  Status LoadMoments(StateSource& source);
  [[nodiscard]] TensorRecord Record(const char* kind, std::size_t i) const;

  const Weights& weights_;
  double weight_decay_;
  std::int64_t step_ = 0;
  std::vector<at::Tensor> exp_avg_;  // rows of this rank
  std::vector<at::Tensor> exp_avg_sq_;
};

// Averaged weights; the decay warms up with the number of updates, so the counter is state too.
class Ema : public Component {
 public:
  Ema(const Options& options, const Weights& weights);

  void Update();
  // All ranks' rows together, one tensor a parameter. All ranks call.
  Result<std::vector<at::Tensor>> GatherWhole(Collective& collective) const;

  void Observe(StateView& view) const override;
  Status Load(StateSource& source) override;

 protected:
  [[nodiscard]] TensorRecord Record(std::size_t i) const;

  const Weights& weights_;
  double decay_;
  std::int64_t updates_ = 0;
  std::vector<at::Tensor> averages_;  // rows of this rank
};

// One generator a logical worker, on the rank that computes it. Always the CPU's generator, so that
// masks are the same on any device.
class RngStreams : public Component {
 public:
  explicit RngStreams(const Options& options);

  // REQUIRES: this rank computes `worker`.
  at::Generator& Of(std::int64_t worker);
  // Workers of this rank.
  [[nodiscard]] RowRange Workers() const { return workers_; }

  void Observe(StateView& view) const override;
  Status Load(StateSource& source) override;

 protected:
  RowRange workers_;
  std::vector<at::Generator> generators_;
};

}  // namespace reprise::models

#endif  // REPRISE_REFERENCE_MODELS_TORCH_STATE_H_
