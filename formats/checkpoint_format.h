// The interface of a checkpoint format, and the list of all of them.
//
// State is plain bytes with dtype and shape: no torch. What is read may be torn, hostile or huge;
// every error names the file and what was expected. One format is one file and one line in
// formats.inc; the conformance suite (conformance_test.cc) runs over the list. A format's bytes are
// specified in docs/checkpoint-format.md.
//
// A save of W ranks: every rank calls WriteShard; the trainer gathers the W summaries on one rank
// (a barrier: all shards are durable then), which calls Publish, then Collect.

#ifndef REPRISE_FORMATS_CHECKPOINT_FORMAT_H_
#define REPRISE_FORMATS_CHECKPOINT_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/model/layout.h"
#include "harness/model/tensor.h"

namespace reprise {

// What one rank holds of one named tensor. `data` is row-major, contiguous, little-endian, and must
// have ElementCount(slice.extents) * SizeOfDType(dtype) bytes. An empty slice is allowed.
struct StateEntry {
  std::string key;  // TensorRecord::Key()
  DType dtype = DType::kF32;
  Shape global_shape;
  Slice slice;
  std::span<const std::byte> data;
};

// State that is not a tensor: values by name, as in StateRecord::scalars.
using TrainingState = std::map<std::string, std::string>;

// Opaque text that WriteShard makes and Publish needs; small (one line per tensor).
using ShardSummary = std::string;

struct ShardAddress {
  std::int64_t step = 0;
  int rank = 0;
  int world = 1;
};

struct CheckpointRef {
  std::string name;  // inside the checkpoint folder
  std::int64_t step = 0;
};

// An opened checkpoint. Index and training state were read and verified at the opening; tensor data
// is read and verified on demand. Not thread-safe.
class CheckpointReader {
 public:
  virtual ~CheckpointReader() = default;

  [[nodiscard]] virtual const Layout& GetLayout() const = 0;
  [[nodiscard]] virtual const TrainingState& GetTrainingState() const = 0;

  // Copies the box `wanted` of the tensor into `out` (row-major), from whichever shards hold it,
  // and reads no more than those. kNotFound: no such tensor, or the shards do not cover the box;
  // kCorrupt: size or checksum is wrong, and `out` is then not to be used; kInvalidInput: the box
  // does not lie inside the tensor, or `out` has not the size of the box.
  virtual Status Read(const std::string& key, const Slice& wanted, std::span<std::byte> out) = 0;

  // The bytes of one stored slice, verified; for walking over GetLayout() ("digest all that is
  // stored"). REQUIRES: `region` is a kTensorData region of GetLayout(); kInvalidInput otherwise.
  virtual Result<std::string> ReadRegion(const LayoutRegion& region) = 0;

  // Reads and verifies everything.
  virtual Status Verify() = 0;
};

class CheckpointFormat {
 public:
  virtual ~CheckpointFormat() = default;

  // Candidates for a restart, in the order in which a loader must try them: what the pointer names,
  // then the others, newest first. An empty or absent folder is an empty list.
  [[nodiscard]] virtual Result<std::vector<CheckpointRef>> List(
      const std::filesystem::path& folder) const = 0;

  [[nodiscard]] virtual Result<std::unique_ptr<CheckpointReader>> Open(
      const std::filesystem::path& folder, const std::string& name) const = 0;

  // The files that a checkpoint demands, relative to `folder`, as far as its index can be read;
  // they need not exist (a shard that was never written).
  [[nodiscard]] virtual Result<std::vector<std::string>> DemandedFiles(
      const std::filesystem::path& folder, const std::string& name) const = 0;

  // Regions that belong to no single checkpoint (the pointer); empty when there are none.
  [[nodiscard]] virtual Result<Layout> FolderLayout(const std::filesystem::path& folder) const = 0;

  // What the pointer holds when it names this checkpoint, which need not exist; empty: the format
  // has no pointer.
  [[nodiscard]] virtual std::string PointerTo(const std::string& name) const = 0;

  // Writes and syncs this rank's shard; not visible to List(). An interrupted save of the same step
  // may have left files behind. kInvalidInput: an entry breaks its rules (see StateEntry).
  // REQUIRES: the keys of `entries` are distinct.
  [[nodiscard]] virtual Result<ShardSummary> WriteShard(
      const std::filesystem::path& folder, const ShardAddress& address,
      std::span<const StateEntry> entries) const = 0;

  // Makes the checkpoint of `address.step` the newest one, atomically and durably; it replaces a
  // published one of the same step. kInvalidInput: the summaries do not fit together (another step
  // or world, slices that overlap, two shapes of one tensor). REQUIRES: one summary per rank, in
  // rank order.
  [[nodiscard]] virtual Status Publish(const std::filesystem::path& folder,
                                       const ShardAddress& address,
                                       std::span<const ShardSummary> summaries,
                                       const TrainingState& state) const = 0;

  // Removes all but the `keep` newest published checkpoints that open, and what interrupted saves
  // left behind. A kill at any point leaves no half-removed checkpoint that List() names. Other
  // ranks may write shards of a later step meanwhile. REQUIRES: keep >= 1; kInvalidInput otherwise.
  [[nodiscard]] virtual Status Collect(const std::filesystem::path& folder, int keep) const = 0;
};

struct FormatInfo {
  std::string name;  // "sharded-safetensors"
  std::string help;  // one line
  std::unique_ptr<CheckpointFormat> (*make)() = nullptr;
};

const std::vector<FormatInfo>& AllFormats();

// Null when there is none of that name.
const FormatInfo* FindFormat(std::string_view name);

}  // namespace reprise

#endif  // REPRISE_FORMATS_CHECKPOINT_FORMAT_H_
