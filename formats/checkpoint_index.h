// What index.json of a sharded-safetensors checkpoint says, and the summary of one shard that it is
// made from. Text form: docs/checkpoint-format.md.

#ifndef REPRISE_FORMATS_CHECKPOINT_INDEX_H_
#define REPRISE_FORMATS_CHECKPOINT_INDEX_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/checkpoint_format.h"
#include "harness/base/result.h"
#include "harness/model/tensor.h"

namespace reprise {

inline constexpr std::int64_t kMaxIndexBytes = std::int64_t{64} << 20;
inline constexpr int kMaxWorld = 4096;

struct ShardFile {
  std::string name;  // "shard-00001-of-00004.safetensors"
  std::int64_t size_bytes = 0;
  std::int64_t header_bytes = 0;
  std::string header_checksum;  // ContentId() of the header
};

struct IndexedSlice {
  int rank = 0;  // that wrote it; its file is files[rank]
  Slice slice;
  std::int64_t begin_bytes = 0;  // relative to the end of the header, as in the file
  std::int64_t end_bytes = 0;
  std::string checksum;  // ContentId() of the data

  friend bool operator==(const IndexedSlice&, const IndexedSlice&) = default;
};

struct IndexedTensor {
  DType dtype = DType::kF32;
  Shape global_shape = {};
  // In the order of the ranks; none is empty, none overlaps another.
  std::vector<IndexedSlice> slices = {};
};

struct CheckpointIndex {
  std::int64_t step = 0;
  std::vector<ShardFile> files = {};  // one per rank
  std::map<std::string, IndexedTensor> tensors = {};
  TrainingState state = {};
};

// "shard-00001-of-00004.safetensors" for rank 0 of 4.
std::string ShardName(int rank, int world);

// One shard as text for Publish. A tensor of which the rank holds nothing has no slice.
// REQUIRES: `shard` has one file, and all its slices are of `address.rank`.
ShardSummary SummaryText(const CheckpointIndex& shard, const ShardAddress& address);

// Joins the summaries of all ranks. kInvalidInput: they do not fit `address` or each other.
Result<CheckpointIndex> JoinSummaries(const ShardAddress& address,
                                      std::span<const ShardSummary> summaries);

// The text of index.json. kInvalidInput: state that is not UTF-8, or a text above kMaxIndexBytes.
Result<std::string> IndexText(const CheckpointIndex& index);

// kCorrupt with `where` (the path of the file) and the field. All sizes in the result are
// consistent: slices lie inside their tensor, have the length that their extents make, and do not
// overlap.
Result<CheckpointIndex> ParseIndex(std::string_view text, const std::string& where);

// The bytes of `text` that hold the training state; {0, 0} when they cannot be told apart.
struct ByteRange {
  std::int64_t offset_bytes = 0;
  std::int64_t length_bytes = 0;
};
ByteRange FindTrainingState(std::string_view text);

}  // namespace reprise

#endif  // REPRISE_FORMATS_CHECKPOINT_INDEX_H_
