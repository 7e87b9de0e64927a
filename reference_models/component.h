// A checkpointable component: one piece of the training's state with its own save and load.
//
// A training is a list of components (recipe.h). Each failure of a restart lives in one of them, so
// a mutant replaces one component and touches no other. No torch here: bytes with shape and dtype.

#ifndef REPRISE_REFERENCE_MODELS_COMPONENT_H_
#define REPRISE_REFERENCE_MODELS_COMPONENT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "formats/checkpoint_format.h"
#include "harness/base/result.h"
#include "harness/model/tensor.h"

namespace reprise::models {

// One named tensor, or the part of it that this rank holds, and its bytes.
struct StateTensor {
  TensorRecord record;
  std::span<const std::byte> bytes;   // of record.slice: contiguous, row-major
  std::shared_ptr<const void> owner;  // keeps `bytes` alive; they change when the training goes on
};

// What a component holds: for a reading in the logbook, or for a file.
struct StateView {
  std::vector<StateTensor> tensors;
  std::map<std::string, std::string> scalars;  // "optimizer.step": "12", as in TrainingState
};

// Where a component loads from: one opened checkpoint.
class StateSource {
 public:
  // `reader` must outlive this object.
  explicit StateSource(CheckpointReader& reader) : reader_(reader) {}

  // Fills `out` with the box `wanted.slice` of the tensor wanted.Key(). kCorrupt when the
  // checkpoint holds it with another shape or dtype, or damaged; kNotFound when it does not hold
  // it.
  Status Read(const TensorRecord& wanted, std::span<std::byte> out);

  // kNotFound: no such scalar; kCorrupt: not a number of this kind.
  [[nodiscard]] Result<std::int64_t> Integer(const std::string& name) const;
  [[nodiscard]] Result<double> Float(const std::string& name) const;

 private:
  CheckpointReader& reader_;
};

class Component {
 public:
  Component() = default;
  Component(const Component&) = delete;
  Component& operator=(const Component&) = delete;
  virtual ~Component() = default;

  // What is live on this rank.
  virtual void Observe(StateView& view) const = 0;

  // What this rank puts into a checkpoint: a part, such that the ranks together write the whole.
  // By default what is live.
  virtual void Save(StateView& view) const { Observe(view); }

  // Takes over the checkpoint's state; values of the command line give way. After an error the
  // component is half loaded, and only another Load() makes it usable.
  virtual Status Load(StateSource& source) = 0;
};

// Rank `rank` of `world` holds rows begin <= row < end: uneven where `rows` does not divide, and
// none where there are fewer rows than ranks.
struct RowRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] std::int64_t Count() const { return end - begin; }
};

inline RowRange RowsOf(int rank, int world, std::int64_t rows) {
  return {rank * rows / world, (rank + 1) * rows / world};
}

// The box of `rows` of a tensor of that shape. REQUIRES: at least one dimension.
Slice SliceOfRows(const Shape& shape, const RowRange& rows);

// The component of state that is integers only.
class Counter final : public Component {
 public:
  // `name`: of the scalar, "step".
  explicit Counter(std::string name) : name_(std::move(name)) {}

  [[nodiscard]] std::int64_t Value() const { return value_; }
  void Advance() { ++value_; }

  void Observe(StateView& view) const override;
  Status Load(StateSource& source) override;

 private:
  std::string name_;
  std::int64_t value_ = 0;
};

}  // namespace reprise::models

#endif  // REPRISE_REFERENCE_MODELS_COMPONENT_H_
