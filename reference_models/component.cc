#include "reference_models/component.h"

#include <fmt/format.h>

#include <charconv>

#include "harness/model/float_bits.h"

namespace reprise::models {
namespace {

Result<std::string> FindScalar(const CheckpointReader& reader, const std::string& name) {
  const TrainingState& state = reader.GetTrainingState();
  const auto found = state.find(name);
  if (found == state.end()) {
    return Fail(ErrorCode::kNotFound, fmt::format("the training state lacks \"{}\"", name));
  }
  return found->second;
}

}  // namespace

Status StateSource::Read(const TensorRecord& wanted, std::span<std::byte> out) {
  const std::string key = wanted.Key();
  for (const LayoutRegion& region : reader_.GetLayout().regions) {
    if (region.kind != RegionKind::kTensorData || region.tensor != key) continue;
    if (region.dtype != wanted.dtype || region.global_shape != wanted.global_shape) {
      return Fail(ErrorCode::kCorrupt,
                  fmt::format("tensor \"{}\" is {} [{}], this training needs {} [{}]", key,
                              ToText(region.dtype), fmt::join(region.global_shape, ", "),
                              ToText(wanted.dtype), fmt::join(wanted.global_shape, ", ")),
                  region.file);
    }
  }
  return reader_.Read(key, wanted.slice, out);
}

Result<std::int64_t> StateSource::Integer(const std::string& name) const {
  REPRISE_ASSIGN_OR_RETURN(const std::string text, FindScalar(reader_, name));
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || value < 0) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("\"{}\" of the training state is \"{}\", expected an integer >= 0",
                            name, text));
  }
  return value;
}

Result<double> StateSource::Float(const std::string& name) const {
  REPRISE_ASSIGN_OR_RETURN(const std::string text, FindScalar(reader_, name));
  const auto bits = FloatBits::Parse(text);
  if (!bits) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("\"{}\" of the training state is \"{}\", expected the bits of a float",
                            name, text));
  }
  return bits->ToDouble();
}

Slice SliceOfRows(const Shape& shape, const RowRange& rows) {
  Slice slice = Slice::Whole(shape);
  slice.offsets[0] = rows.begin;
  slice.extents[0] = rows.Count();
  return slice;
}

void Counter::Observe(StateView& view) const { view.scalars[name_] = std::to_string(value_); }

Status Counter::Load(StateSource& source) {
  REPRISE_ASSIGN_OR_RETURN(value_, source.Integer(name_));
  return {};
}

}  // namespace reprise::models
