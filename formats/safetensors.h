// Reads and writes the header of a safetensors file, strictly.
//
// The file: 8 bytes length N (little-endian) | N bytes JSON, padded with spaces | tensor data. The
// rules are those of the reference reader (huggingface/safetensors, safetensors/src/tensor.rs):
// data offsets are contiguous from 0 to the end of the file, so there are no holes, no overlaps and
// no tail. The format has no checksum; see checkpoint_index.h for ours.

#ifndef REPRISE_FORMATS_SAFETENSORS_H_
#define REPRISE_FORMATS_SAFETENSORS_H_

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/model/tensor.h"

namespace reprise {

// The limit of the reference reader for N.
inline constexpr std::int64_t kMaxSafetensorsHeaderBytes = 100'000'000;

struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape = {};
  std::int64_t begin_bytes = 0;  // relative to the end of the header
  std::int64_t end_bytes = 0;
};

struct SafetensorsHeader {
  std::map<std::string, std::string> metadata;
  std::vector<SafetensorsEntry> entries;  // in the order of their data
  std::int64_t length_bytes = 0;          // of the whole header, 8 + N
};

// Whole length 8 + N of the header from the first 8 bytes of a file of `file_bytes`. kCorrupt when
// the file cannot be that long.
Result<std::int64_t> SafetensorsHeaderLength(std::string_view first_bytes, std::int64_t file_bytes,
                                             const std::string& where);

// `header` is all of it, 8 + N bytes. kCorrupt with `where` and the name of the tensor.
Result<SafetensorsHeader> ParseSafetensorsHeader(std::string_view header, std::int64_t file_bytes,
                                                 const std::string& where);

// Lays out the data of `entries` (largest element first, then by name, as the reference writer
// does), sets their order and offsets, and returns the header: a multiple of 8 bytes, equal for
// equal input. kInvalidInput: a name occurs twice, is "__metadata__" or not UTF-8, or the sizes are
// too large.
Result<std::string> LayOutSafetensors(const std::map<std::string, std::string>& metadata,
                                      std::vector<SafetensorsEntry>* entries);

}  // namespace reprise

#endif  // REPRISE_FORMATS_SAFETENSORS_H_
