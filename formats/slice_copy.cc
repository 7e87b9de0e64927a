#include "formats/slice_copy.h"

#include <algorithm>
#include <cstring>

namespace reprise {
namespace {

// Position of `index` inside `box`, in elements.
std::size_t PositionIn(const Slice& box, const Shape& index) {
  std::int64_t position = 0;
  for (std::size_t d = 0; d < index.size(); ++d) {
    position = position * box.extents[d] + (index[d] - box.offsets[d]);
  }
  return static_cast<std::size_t>(position);
}

// Steps `index` to the next row of `box`; false after the last one.
bool NextRow(const Slice& box, Shape* index) {
  for (std::size_t d = index->size() - 1; d-- > 0;) {
    if (++(*index)[d] < box.offsets[d] + box.extents[d]) {
      return true;
    }
    (*index)[d] = box.offsets[d];
  }
  return false;
}

}  // namespace

void CopyBox(const Slice& common, int element_bytes, const Slice& from_box,
             std::span<const std::byte> from, const Slice& to_box, std::span<std::byte> to) {
  const auto width = static_cast<std::size_t>(element_bytes);
  const std::size_t row_bytes =
      width * (common.extents.empty() ? 1 : static_cast<std::size_t>(common.extents.back()));
  Shape index = common.offsets;
  do {
    std::memcpy(to.data() + PositionIn(to_box, index) * width,
                from.data() + PositionIn(from_box, index) * width, row_bytes);
  } while (!index.empty() && NextRow(common, &index));
}

}  // namespace reprise
