// Identity of a tensor and of the part of it that one rank or one file holds.

#ifndef REPRISE_HARNESS_MODEL_TENSOR_H_
#define REPRISE_HARNESS_MODEL_TENSOR_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {

// Element types, named as in the safetensors format.
enum class DType { kBool, kU8, kI8, kI16, kU16, kF16, kBF16, kI32, kU32, kF32, kI64, kU64, kF64 };

int SizeOfDType(DType dtype);  // bytes
std::string_view ToText(DType dtype);
std::optional<DType> ParseDType(std::string_view text);

using Shape = std::vector<std::int64_t>;

// Number of elements; 1 for a scalar (no dimensions). Nothing for a negative dimension or when the
// product overflows 63 bits.
std::optional<std::int64_t> ElementCount(const Shape& shape);

// An axis-aligned box inside a tensor: offsets[d] <= index[d] < offsets[d] + extents[d].
struct Slice {
  Shape offsets;
  Shape extents;

  static Slice Whole(const Shape& shape) { return {Shape(shape.size(), 0), shape}; }
  friend bool operator==(const Slice&, const Slice&) = default;
};

// True when `slice` has the rank of `shape` and lies inside it.
bool LiesInside(const Slice& slice, const Shape& shape);

// The common box, or nothing when it is empty. REQUIRES: both of one dimensionality.
std::optional<Slice> Intersect(const Slice& a, const Slice& b);

// What one rank holds of one named tensor.
struct TensorRecord {
  // What part of the training state it belongs to; one of the words of docs/logbook.md ("weights",
  // "optimizer.moments", "ema", "rng.torch", …). Causes speak about components.
  std::string component;
  std::string kind;  // "weight", "exp_avg", "exp_avg_sq", "ema", "rng", …
  std::string path;  // name inside its kind: "blocks.0.attn.qkv.weight"
  DType dtype = DType::kF32;
  Shape global_shape;
  Slice slice;  // the part held here
  // Replicas hold the same bits and are compared; shards hold different slices and are added.
  int replica_index = 0;
  int replica_count = 1;
  // Key() of the tensor whose storage it shares (tied weights); empty when it has its own.
  std::string alias_of;

  // "exp_avg/blocks.0.attn.qkv.weight": unique in a state, equal on all ranks.
  [[nodiscard]] std::string Key() const { return kind + "/" + path; }
};

// Raw, additive digest of some elements of a tensor (docs/logbook.md, "Digest"): the sum of the
// parts of a tensor, lane by lane modulo 2^64, is the sum of the whole.
struct DigestSum {
  std::uint64_t a = 0;
  std::uint64_t b = 0;

  DigestSum& operator+=(const DigestSum& other) {
    a += other.a;
    b += other.b;
    return *this;
  }
  friend bool operator==(const DigestSum&, const DigestSum&) = default;
};

}  // namespace reprise

#endif  // REPRISE_HARNESS_MODEL_TENSOR_H_
