#include "probes/c/digest.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <limits>

#include "probes/c/digest_kernels.h"

namespace {

constexpr std::uint64_t kBlockBytes = REPRISE_DIGEST_BLOCK_BYTES;

bool CpuHas(reprise_digest_path path) {
#if defined(REPRISE_DIGEST_X86)
  switch (path) {
    case REPRISE_DIGEST_SCALAR:
      return true;
    case REPRISE_DIGEST_AVX2:
      return __builtin_cpu_supports("avx2") != 0;
    case REPRISE_DIGEST_AVX512:
      return __builtin_cpu_supports("avx512f") != 0;
  }
  return false;
#else
  return path == REPRISE_DIGEST_SCALAR;
#endif
}

reprise_digest_kernel* KernelOf(reprise_digest_path path) {
#if defined(REPRISE_DIGEST_X86)
  switch (path) {
    case REPRISE_DIGEST_SCALAR:
      return reprise_digest_blocks_scalar;
    case REPRISE_DIGEST_AVX2:
      return reprise_digest_blocks_avx2;
    case REPRISE_DIGEST_AVX512:
      return reprise_digest_blocks_avx512;
  }
#else
  static_cast<void>(path);
#endif
  return reprise_digest_blocks_scalar;
}

reprise_digest_path BestPath() {
  for (const reprise_digest_path path : {REPRISE_DIGEST_AVX512, REPRISE_DIGEST_AVX2}) {
    if (CpuHas(path)) {
      return path;
    }
  }
  return REPRISE_DIGEST_SCALAR;
}

std::atomic<reprise_digest_path>& CurrentPath() {
  static std::atomic<reprise_digest_path> path{BestPath()};
  return path;
}

// Feeds bytes at their places in the whole tensor to the kernel. Whole blocks go directly; parts of
// a block are collected in a zeroed block (zero bytes add nothing), so that the short rows of a
// box, several of which may share a block, run through the kernel too.
class BlockFeeder {
 public:
  explicit BlockFeeder(reprise_digest_sum* sum)
      : sum_(sum), kernel_(KernelOf(CurrentPath().load(std::memory_order_relaxed))) {}
  BlockFeeder(const BlockFeeder&) = delete;
  BlockFeeder& operator=(const BlockFeeder&) = delete;
  ~BlockFeeder() { Flush(); }

  void Add(std::uint64_t position, const std::uint8_t* data, std::uint64_t size) {
    while (size > 0) {
      const std::uint64_t inside = position % kBlockBytes;
      std::uint64_t part = std::min(size, kBlockBytes - inside);
      if (part == kBlockBytes) {
        part = size - size % kBlockBytes;
        kernel_(sum_, data, position / kBlockBytes, part / kBlockBytes);
      } else {
        Collect(position / kBlockBytes, inside, data, part);
      }
      position += part;
      data += part;
      size -= part;
    }
  }

 private:
  void Collect(std::uint64_t block, std::uint64_t inside, const std::uint8_t* data,
               std::uint64_t size) {
    if (collected_ && block != block_) {
      Flush();
    }
    std::memcpy(bytes_.data() + inside, data, size);
    block_ = block;
    collected_ = true;
  }

  void Flush() {
    if (collected_) {
      kernel_(sum_, bytes_.data(), block_, 1);
      bytes_.fill(0);
      collected_ = false;
    }
  }

  reprise_digest_sum* sum_;
  reprise_digest_kernel* kernel_;
  std::array<std::uint8_t, kBlockBytes> bytes_ = {};
  std::uint64_t block_ = 0;
  bool collected_ = false;
};

// A checked box, in bytes, with the trailing dimensions that are held whole merged into one run.
struct Box {
  std::size_t outer_count = 0;  // dimensions before the run
  std::array<std::uint64_t, REPRISE_DIGEST_MAX_DIMENSIONS> extents = {};
  std::array<std::uint64_t, REPRISE_DIGEST_MAX_DIMENSIONS> strides_bytes = {};
  std::uint64_t start_bytes = 0;
  std::uint64_t run_bytes = 0;
};

// False when the box does not fit into the shape or the shape into 63 bits of bytes.
bool IsSound(std::size_t element_size, std::size_t dimensions, const std::int64_t* shape,
             const std::int64_t* offsets, const std::int64_t* extents) {
  const bool size_fits =
      element_size == 1 || element_size == 2 || element_size == 4 || element_size == 8;
  if (!size_fits || dimensions > REPRISE_DIGEST_MAX_DIMENSIONS) {
    return false;
  }
  auto bytes = static_cast<std::int64_t>(element_size);
  for (std::size_t d = 0; d < dimensions; ++d) {
    if (shape[d] < 0 || offsets[d] < 0 || extents[d] < 0 || extents[d] > shape[d] ||
        offsets[d] > shape[d] - extents[d]) {
      return false;
    }
    // A dimension of 0 elements counts as 1 here, so that strides of an empty tensor cannot
    // overflow.
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(shape[d], 1), &bytes)) {
      return false;
    }
  }
  return true;
}

Box MakeBox(std::size_t element_size, std::size_t dimensions, const std::int64_t* shape,
            const std::int64_t* offsets, const std::int64_t* extents) {
  Box box;
  std::uint64_t stride = element_size;
  box.run_bytes = element_size;
  bool whole = true;  // all dimensions after d are held whole
  for (std::size_t d = dimensions; d-- > 0;) {
    const auto extent = static_cast<std::uint64_t>(extents[d]);
    box.start_bytes += static_cast<std::uint64_t>(offsets[d]) * stride;
    if (whole) {
      box.run_bytes *= extent;
      box.outer_count = d;
      whole = extents[d] == shape[d];
    }
    box.extents[d] = extent;
    box.strides_bytes[d] = stride;
    stride *= static_cast<std::uint64_t>(shape[d]);
  }
  return box;
}

bool IsEmpty(std::size_t dimensions, const std::int64_t* extents) {
  return std::any_of(extents, extents + dimensions, [](std::int64_t e) { return e == 0; });
}

void AddRuns(BlockFeeder* feeder, const Box& box, const std::uint8_t* data) {
  std::array<std::uint64_t, REPRISE_DIGEST_MAX_DIMENSIONS> index = {};
  std::uint64_t position = box.start_bytes;
  for (;;) {
    feeder->Add(position, data, box.run_bytes);
    data += box.run_bytes;
    std::size_t d = box.outer_count;
    for (; d > 0; --d) {
      position += box.strides_bytes[d - 1];
      if (++index[d - 1] < box.extents[d - 1]) {
        break;
      }
      position -= index[d - 1] * box.strides_bytes[d - 1];
      index[d - 1] = 0;
    }
    if (d == 0) {
      return;
    }
  }
}

}  // namespace

extern "C" {

void reprise_digest_range(reprise_digest_sum* sum, const void* data, size_t element_size,
                          uint64_t first_index, uint64_t count) {
  BlockFeeder(sum).Add(first_index * element_size, static_cast<const std::uint8_t*>(data),
                       count * element_size);
}

int reprise_digest_box(reprise_digest_sum* sum, const void* data, size_t element_size,
                       size_t dimension_count, const int64_t* global_shape, const int64_t* offsets,
                       const int64_t* extents) {
  if (!IsSound(element_size, dimension_count, global_shape, offsets, extents)) {
    return -1;
  }
  if (IsEmpty(dimension_count, extents)) {
    return 0;
  }
  if (data == nullptr) {
    return -1;
  }
  const Box box = MakeBox(element_size, dimension_count, global_shape, offsets, extents);
  BlockFeeder feeder(sum);
  AddRuns(&feeder, box, static_cast<const std::uint8_t*>(data));
  return 0;
}

void reprise_digest_final(const reprise_digest_sum* sum, const char* dtype, size_t dimension_count,
                          const int64_t* global_shape, char hex[REPRISE_DIGEST_HEX_SIZE]) {
  // Longest text: 31 + 32 numbers of 20 characters with separators + 34.
  std::array<char, 800> text = {};
  std::size_t used = 0;
  const auto append = [&](auto... arguments) {
    const int n = std::snprintf(text.data() + used, text.size() - used, arguments...);
    used += static_cast<std::size_t>(n);
  };
  append("%.31s[", dtype);
  for (std::size_t d = 0; d < dimension_count; ++d) {
    append(d == 0 ? "%" PRId64 : ",%" PRId64, global_shape[d]);
  }
  append("] %016" PRIx64 " %016" PRIx64, sum->a, sum->b);
  const XXH128_hash_t hash = XXH3_128bits(text.data(), used);
  std::snprintf(hex, REPRISE_DIGEST_HEX_SIZE, "%016" PRIx64 "%016" PRIx64,
                static_cast<std::uint64_t>(hash.high64), static_cast<std::uint64_t>(hash.low64));
}

reprise_digest_path reprise_digest_current_path(void) { return CurrentPath().load(); }

const char* reprise_digest_path_name(reprise_digest_path path) {
  switch (path) {
    case REPRISE_DIGEST_SCALAR:
      return "scalar";
    case REPRISE_DIGEST_AVX2:
      return "avx2";
    case REPRISE_DIGEST_AVX512:
      return "avx512";
  }
  return "unknown";
}

int reprise_digest_set_path(reprise_digest_path path) {
  if (!CpuHas(path)) {
    return -1;
  }
  CurrentPath().store(path);
  return 0;
}

}  // extern "C"
