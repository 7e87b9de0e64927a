// Which bytes of which file of a checkpoint mean what.

#ifndef REPRISE_HARNESS_MODEL_LAYOUT_H_
#define REPRISE_HARNESS_MODEL_LAYOUT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/model/tensor.h"

namespace reprise {

enum class RegionKind { kHeader, kIndex, kTensorData, kTrainingState, kCommitMark, kPointer };

std::string_view ToText(RegionKind kind);
std::optional<RegionKind> ParseRegionKind(std::string_view text);

struct LayoutRegion {
  std::string file;  // relative to the checkpoint folder (the one that holds all checkpoints)
  std::int64_t offset_bytes = 0;
  std::int64_t length_bytes = 0;
  RegionKind kind = RegionKind::kTensorData;
  int rank = -1;            // that wrote it; -1 where it belongs to all
  std::string tensor = {};  // Key() of the tensor, for kTensorData
  DType dtype = DType::kU8;
  Shape global_shape = {};
  Slice slice = {};
};

// All regions of one checkpoint, ordered by file and offset.
struct Layout {
  std::string checkpoint;  // its name inside the folder
  std::int64_t step = 0;
  std::vector<LayoutRegion> regions = {};
};

}  // namespace reprise

#endif  // REPRISE_HARNESS_MODEL_LAYOUT_H_
