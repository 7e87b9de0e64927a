#include "harness/model/tensor.h"

#include <algorithm>
#include <array>
#include <utility>

namespace reprise {
namespace {

struct DTypeEntry {
  DType dtype;
  int size_bytes;
  std::string_view text;
};

constexpr std::array<DTypeEntry, 13> kDTypes = {{
    {DType::kBool, 1, "BOOL"},
    {DType::kU8, 1, "U8"},
    {DType::kI8, 1, "I8"},
    {DType::kI16, 2, "I16"},
    {DType::kU16, 2, "U16"},
    {DType::kF16, 2, "F16"},
    {DType::kBF16, 2, "BF16"},
    {DType::kI32, 4, "I32"},
    {DType::kU32, 4, "U32"},
    {DType::kF32, 4, "F32"},
    {DType::kI64, 8, "I64"},
    {DType::kU64, 8, "U64"},
    {DType::kF64, 8, "F64"},
}};

}  // namespace

int SizeOfDType(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)].size_bytes; }

std::string_view ToText(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)].text; }

std::optional<DType> ParseDType(std::string_view text) {
  for (const DTypeEntry& entry : kDTypes) {
    if (entry.text == text) {
      return entry.dtype;
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> ElementCount(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) {
      return std::nullopt;
    }
  }
  return count;
}

bool LiesInside(const Slice& slice, const Shape& shape) {
  if (slice.offsets.size() != shape.size() || slice.extents.size() != shape.size()) {
    return false;
  }
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (slice.offsets[d] < 0 || slice.extents[d] < 0 || slice.extents[d] > shape[d] ||
        slice.offsets[d] > shape[d] - slice.extents[d]) {
      return false;
    }
  }
  return true;
}

std::optional<Slice> Intersect(const Slice& a, const Slice& b) {
  Slice common;
  for (std::size_t d = 0; d < a.offsets.size(); ++d) {
    const std::int64_t begin = std::max(a.offsets[d], b.offsets[d]);
    const std::int64_t end = std::min(a.offsets[d] + a.extents[d], b.offsets[d] + b.extents[d]);
    if (begin >= end) {
      return std::nullopt;
    }
    common.offsets.push_back(begin);
    common.extents.push_back(end - begin);
  }
  return common;
}

}  // namespace reprise
