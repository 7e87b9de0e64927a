// What the tests of formats share: logical states, their split over ranks, saving and loading them.

#ifndef REPRISE_FORMATS_FORMAT_TESTING_H_
#define REPRISE_FORMATS_FORMAT_TESTING_H_

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "formats/checkpoint_format.h"
#include "harness/base/random.h"
#include "harness/base/result.h"
#include "harness/model/tensor.h"

namespace reprise::testing {

// A whole tensor in memory.
struct Tensor {
  DType dtype = DType::kF32;
  Shape shape = {};
  std::string data = {};

  friend bool operator==(const Tensor&, const Tensor&) = default;
};

using State = std::map<std::string, Tensor>;

// A new empty folder, removed at the end of its life.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  [[nodiscard]] const std::filesystem::path& Path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// A tensor of random bytes. REQUIRES: a shape with few elements.
Tensor RandomTensor(DType dtype, const Shape& shape, Random* random);

// Shapes, types and values that formats get wrong: empty, scalar, NaN payloads, −0.0, huge names …
State OddState();

// The bytes of the box of a tensor, row-major.
std::string Cut(const Tensor& tensor, const Slice& box);

// What rank `rank` of `world` holds of a tensor of that shape.
using Split = std::function<Slice(const Shape& shape, int rank, int world)>;

// Rows cut as evenly as they go (some ranks get none); a scalar belongs to rank 0.
Slice SplitRows(const Shape& shape, int rank, int world);
// The last dimension cut with most of it on the last rank.
Slice SplitLastUnevenly(const Shape& shape, int rank, int world);

// Writes all shards; Save() publishes them too.
Result<std::vector<ShardSummary>> WriteShards(const CheckpointFormat& format,
                                              const std::filesystem::path& folder,
                                              const State& state, std::int64_t step, int world,
                                              const Split& split);
Status Save(const CheckpointFormat& format, const std::filesystem::path& folder, const State& state,
            std::int64_t step, int world, const Split& split = SplitRows);

// Reads every tensor of `like` (names, types and shapes) as `world` ranks would, each its own
// slice.
Result<State> Load(CheckpointReader* reader, const State& like, int world,
                   const Split& split = SplitRows);

// The training state that Save() gives for a step.
TrainingState TrainingStateOf(std::int64_t step);

// Content by path relative to the folder, of all regular files.
std::map<std::string, std::string> FilesIn(const std::filesystem::path& folder);

// Replaces a file's content; makes no new file.
void Overwrite(const std::filesystem::path& path, const std::string& content);

}  // namespace reprise::testing

#endif  // REPRISE_FORMATS_FORMAT_TESTING_H_
