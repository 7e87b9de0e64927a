// Copies the common part of two boxes of one tensor between row-major buffers.

#ifndef REPRISE_FORMATS_SLICE_COPY_H_
#define REPRISE_FORMATS_SLICE_COPY_H_

#include <cstddef>
#include <span>

#include "harness/model/tensor.h"

namespace reprise {

// `from` holds the box `from_box`, `to` the box `to_box`; the elements of `common` are copied.
// REQUIRES: `common` lies in both boxes and is not empty; the buffers have the sizes of their
// boxes.
void CopyBox(const Slice& common, int element_bytes, const Slice& from_box,
             std::span<const std::byte> from, const Slice& to_box, std::span<std::byte> to);

}  // namespace reprise

#endif  // REPRISE_FORMATS_SLICE_COPY_H_
