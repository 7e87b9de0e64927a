// The readings of one tensor at a restart: in the file, after the load, before the first forward.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/judge/layers.h"

namespace reprise {
namespace {

ReadingState StateOf(const CompareSpec& spec, const StateView* state, int reference_tensor,
                     const TensorReading& wanted) {
  if (state == nullptr) {
    return ReadingState::kUnknown;
  }
  const TensorRecord& record =
      spec.reference->Tensors()[static_cast<std::size_t>(reference_tensor)].record;
  const int tensor = spec.run->FindTensor(record.Key());
  const TensorReading seen = tensor < 0 ? TensorReading{} : spec.run->Read(*state, tensor);
  if (!seen.present) {
    return ReadingState::kAbsent;
  }
  return seen.sum == wanted.sum ? ReadingState::kEqual : ReadingState::kDifferent;
}

}  // namespace

TensorReadings ReadingsOf(const CompareSpec& spec, int reference_tensor) {
  TensorReadings readings;
  const TensorReading wanted =
      spec.reference->ReadFirst(spec.reference->StatesAt(spec.first_step), reference_tensor);
  if (!wanted.present) {
    return readings;
  }
  readings.restored = StateOf(spec, spec.run->FirstState("restored"), reference_tensor, wanted);
  readings.ready = StateOf(spec, spec.run->FirstState("ready"), reference_tensor, wanted);
  if (spec.loaded != nullptr && spec.loaded->error.empty()) {
    const TensorRecord& record =
        spec.reference->Tensors()[static_cast<std::size_t>(reference_tensor)].record;
    const auto stored = spec.loaded->tensors.find(record.Key());
    if (stored == spec.loaded->tensors.end()) {
      readings.file = ReadingState::kAbsent;
    } else {
      readings.file = stored->second.covered && stored->second.sum == wanted.sum
                          ? ReadingState::kEqual
                          : ReadingState::kDifferent;
    }
  }
  return readings;
}

std::string Show(const TensorReadings& readings) {
  std::vector<std::string> parts;
  const auto add = [&](const char* where, ReadingState state) {
    switch (state) {
      case ReadingState::kUnknown:
        return;
      case ReadingState::kAbsent:
        parts.push_back(fmt::format("{}: absent", where));
        return;
      case ReadingState::kEqual:
        parts.push_back(fmt::format("{}: equal", where));
        return;
      case ReadingState::kDifferent:
        parts.push_back(fmt::format("{}: different", where));
        return;
    }
  };
  add("in the file", readings.file);
  add("after the load", readings.restored);
  add("before the first forward", readings.ready);
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace reprise
