#include "formats/format_testing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "formats/slice_copy.h"
#include "harness/base/check.h"
#include "harness/base/files.h"

namespace reprise::testing {
namespace {

namespace fs = std::filesystem;

std::string Words(const std::vector<std::uint32_t>& words) {
  return {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(std::uint32_t)};
}

std::span<std::byte> AsWritable(std::string* text) {
  return std::as_writable_bytes(std::span(*text));
}

std::size_t DataBytes(const Tensor& tensor, const Shape& extents) {
  return static_cast<std::size_t>(*ElementCount(extents) * SizeOfDType(tensor.dtype));
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "reprise-XXXXXX").string();
  REPRISE_CHECK(mkdtemp(name.data()) != nullptr, name);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  const Status removed = RemoveTree(path_);
  REPRISE_CHECK(removed.has_value(), removed.error().ToString());
}

Tensor RandomTensor(DType dtype, const Shape& shape, Random* random) {
  Tensor tensor{.dtype = dtype, .shape = shape};
  tensor.data.resize(DataBytes(tensor, shape));
  for (char& c : tensor.data) {
    c = static_cast<char>(random->Next());
  }
  return tensor;
}

State OddState() {
  Random random(7);
  State state;
  state["odd/empty"] = {.dtype = DType::kF32, .shape = {0, 4}, .data = ""};
  state["odd/scalar"] = {
      .dtype = DType::kI64, .shape = {}, .data = std::string("\1\2\3\4\5\6\7\x80")};
  // −0.0, two NaN payloads, the smallest subnormal, −infinity.
  state["odd/floats"] = {
      .dtype = DType::kF32,
      .shape = {5},
      .data = Words({0x80000000U, 0x7FC00001U, 0xFFA5A5A5U, 0x00000001U, 0xFF800000U})};
  state["odd/one row"] = RandomTensor(DType::kF64, {1, 3}, &random);
  state["odd/many dimensions"] = RandomTensor(DType::kBF16, {3, 1, 2, 1, 5}, &random);
  state["odd/bool"] = {.dtype = DType::kBool, .shape = {3}, .data = std::string("\0\1\1", 3)};
  state["odd/" + std::string(5000, 'n')] = RandomTensor(DType::kU8, {7}, &random);
  state["odd/\"quoted\" \\ \n \xC3\xA9 \x01"] = RandomTensor(DType::kF16, {4, 4}, &random);
  return state;
}

std::string Cut(const Tensor& tensor, const Slice& box) {
  std::string bytes(DataBytes(tensor, box.extents), '\0');
  if (!bytes.empty()) {
    CopyBox(box, SizeOfDType(tensor.dtype), Slice::Whole(tensor.shape),
            std::as_bytes(std::span(tensor.data)), box, AsWritable(&bytes));
  }
  return bytes;
}

Slice SplitRows(const Shape& shape, int rank, int world) {
  Slice slice = Slice::Whole(shape);
  if (shape.empty()) {
    return slice;
  }
  slice.offsets[0] = shape[0] * rank / world;
  slice.extents[0] = shape[0] * (rank + 1) / world - slice.offsets[0];
  return slice;
}

Slice SplitLastUnevenly(const Shape& shape, int rank, int world) {
  Slice slice = Slice::Whole(shape);
  if (shape.empty()) {
    return slice;
  }
  const std::int64_t begin = std::min<std::int64_t>(rank, shape.back());
  slice.offsets.back() = begin;
  slice.extents.back() =
      (rank == world - 1 ? shape.back() : std::min<std::int64_t>(rank + 1, shape.back())) - begin;
  return slice;
}

Result<std::vector<ShardSummary>> WriteShards(const CheckpointFormat& format,
                                              const fs::path& folder, const State& state,
                                              std::int64_t step, int world, const Split& split) {
  std::vector<ShardSummary> summaries;
  for (int rank = 0; rank < world; ++rank) {
    std::vector<std::string> buffers;
    buffers.reserve(state.size());
    std::vector<StateEntry> entries;
    for (const auto& [key, tensor] : state) {
      if (tensor.shape.empty() && rank != 0) {
        continue;  // a scalar cannot be cut; one rank holds it
      }
      const Slice slice = split(tensor.shape, rank, world);
      buffers.push_back(Cut(tensor, slice));
      entries.push_back({.key = key,
                         .dtype = tensor.dtype,
                         .global_shape = tensor.shape,
                         .slice = slice,
                         .data = std::as_bytes(std::span(buffers.back()))});
    }
    REPRISE_ASSIGN_OR_RETURN(
        ShardSummary summary,
        format.WriteShard(folder, {.step = step, .rank = rank, .world = world}, entries));
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

Status Save(const CheckpointFormat& format, const fs::path& folder, const State& state,
            std::int64_t step, int world, const Split& split) {
  REPRISE_ASSIGN_OR_RETURN(const std::vector<ShardSummary> summaries,
                           WriteShards(format, folder, state, step, world, split));
  return format.Publish(folder, {.step = step, .rank = 0, .world = world}, summaries,
                        TrainingStateOf(step));
}

Result<State> Load(CheckpointReader* reader, const State& like, int world, const Split& split) {
  State loaded;
  for (const auto& [key, tensor] : like) {
    Tensor whole{.dtype = tensor.dtype, .shape = tensor.shape};
    whole.data.assign(DataBytes(tensor, tensor.shape), '\x55');
    for (int rank = 0; rank < world; ++rank) {
      const Slice slice = split(tensor.shape, rank, world);
      std::string part(DataBytes(tensor, slice.extents), '\x55');
      REPRISE_RETURN_IF_ERROR(reader->Read(key, slice, AsWritable(&part)));
      if (!part.empty()) {
        CopyBox(slice, SizeOfDType(tensor.dtype), slice, std::as_bytes(std::span(part)),
                Slice::Whole(tensor.shape), AsWritable(&whole.data));
      }
    }
    loaded[key] = std::move(whole);
  }
  return loaded;
}

TrainingState TrainingStateOf(std::int64_t step) {
  return {{"step", std::to_string(step)},
          {"data.position", "0012"},
          {"odd \"name\"\n\"state\": ", "a\\b\n}\n"},
          {"empty", ""}};
}

std::map<std::string, std::string> FilesIn(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) {
      auto content = ReadFile(entry.path(), std::uint64_t{1} << 30);
      REPRISE_CHECK(content.has_value(), content.error().ToString());
      files[fs::relative(entry.path(), folder).string()] = *std::move(content);
    }
  }
  return files;
}

void Overwrite(const fs::path& path, const std::string& content) {
  REPRISE_CHECK(fs::exists(path), path.string());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

}  // namespace reprise::testing
