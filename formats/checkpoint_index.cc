#include "formats/checkpoint_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "formats/json_shape.h"
#include "harness/base/json_fields.h"

namespace reprise {
namespace {

constexpr const char* kFormat = "reprise.sharded-safetensors/1";
constexpr std::string_view kStateLine = "\n\"state\": ";

OrderedJson FileJson(const ShardFile& file) {
  return {{"name", file.name},
          {"size", file.size_bytes},
          {"header_bytes", file.header_bytes},
          {"header_xxh3_128", file.header_checksum}};
}

OrderedJson TensorJson(const IndexedTensor& tensor) {
  OrderedJson slices = OrderedJson::array();
  for (const IndexedSlice& slice : tensor.slices) {
    slices.push_back({{"rank", slice.rank},
                      {"offsets", slice.slice.offsets},
                      {"extents", slice.slice.extents},
                      {"data_offsets", {slice.begin_bytes, slice.end_bytes}},
                      {"xxh3_128", slice.checksum}});
  }
  return {{"dtype", ToText(tensor.dtype)},
          {"global_shape", tensor.global_shape},
          {"slices", std::move(slices)}};
}

// Layout of the text: one file, tensor or value of the state a line, so that a person can read it
// and the state's bytes can be told apart.
template <typename Map, typename ToJson>
std::string ObjectText(const Map& map, ToJson to_json) {
  std::string text;
  for (const auto& [key, value] : map) {
    text += fmt::format("{}\n  {}: {}", text.empty() ? "" : ",", DumpJson(OrderedJson(key)),
                        DumpJson(to_json(value)));
  }
  return text.empty() ? "{}" : "{" + text + "\n}";
}

std::string BodyText(const CheckpointIndex& index) {
  std::string files;
  for (const ShardFile& file : index.files) {
    files += fmt::format("{}\n  {}", files.empty() ? "" : ",", DumpJson(FileJson(file)));
  }
  return fmt::format("\"files\": [{}\n],\n\"tensors\": {}", files,
                     ObjectText(index.tensors, TensorJson));
}

Result<ShardFile> ParseFile(const Json& value, const std::string& where) {
  JsonFields fields(value, where);
  ShardFile file;
  file.name = fields.RequiredString("name");
  file.size_bytes = fields.RequiredInteger("size", 8, INT64_MAX);
  file.header_bytes = fields.RequiredInteger("header_bytes", 8, file.size_bytes);
  file.header_checksum = fields.RequiredString("header_xxh3_128");
  REPRISE_RETURN_IF_ERROR(fields.Finish());
  return file;
}

// Lies inside the tensor, inside the file, is not empty, and has the length that its extents make.
Status CheckSlice(const IndexedSlice& slice, const IndexedTensor& tensor, const ShardFile& file,
                  const std::string& where) {
  if (!LiesInside(slice.slice, tensor.global_shape)) {
    return Fail(ErrorCode::kCorrupt, "the slice does not lie inside the tensor", where);
  }
  std::int64_t bytes = 0;
  const auto count = ElementCount(slice.slice.extents);
  if (!count || *count == 0 || __builtin_mul_overflow(*count, SizeOfDType(tensor.dtype), &bytes) ||
      bytes != slice.end_bytes - slice.begin_bytes) {
    return Fail(ErrorCode::kCorrupt, "the extents do not make the length of data_offsets", where);
  }
  if (slice.end_bytes > file.size_bytes - file.header_bytes) {
    return Fail(ErrorCode::kCorrupt, "data_offsets lie behind the end of " + file.name, where);
  }
  return {};
}

Result<IndexedSlice> ParseSlice(const Json& value, const IndexedTensor& tensor,
                                const std::vector<ShardFile>& files, const std::string& where) {
  JsonFields fields(value, where);
  IndexedSlice slice;
  slice.rank =
      static_cast<int>(fields.RequiredInteger("rank", 0, static_cast<int>(files.size()) - 1));
  slice.slice.offsets = RequiredSizes(&fields, "offsets");
  slice.slice.extents = RequiredSizes(&fields, "extents");
  const Shape data = RequiredSizes(&fields, "data_offsets");
  slice.checksum = fields.RequiredString("xxh3_128");
  if (data.size() != 2 || data[0] > data[1]) {
    fields.AddError("data_offsets", "expected [begin, end] with begin <= end");
  }
  REPRISE_RETURN_IF_ERROR(fields.Finish());
  slice.begin_bytes = data[0];
  slice.end_bytes = data[1];
  REPRISE_RETURN_IF_ERROR(
      CheckSlice(slice, tensor, files[static_cast<std::size_t>(slice.rank)], where));
  return slice;
}

// A rank holds at most one slice of a tensor, so there are at most kMaxWorld of them; sorted by the
// first offset, a slice is compared only with those that begin before it ends.
Status CheckDisjoint(const IndexedTensor& tensor, const std::string& where) {
  std::vector<const IndexedSlice*> sorted;
  for (const IndexedSlice& slice : tensor.slices) {
    sorted.push_back(&slice);
  }
  const bool is_scalar = tensor.global_shape.empty();
  std::sort(sorted.begin(), sorted.end(), [](const IndexedSlice* a, const IndexedSlice* b) {
    return a->slice.offsets < b->slice.offsets;
  });
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const Slice& a = sorted[i]->slice;
    for (std::size_t j = i + 1; j < sorted.size(); ++j) {
      const Slice& b = sorted[j]->slice;
      if (!is_scalar && b.offsets[0] - a.offsets[0] >= a.extents[0]) {
        break;
      }
      if (Intersect(a, b)) {
        return Fail(
            ErrorCode::kCorrupt,
            fmt::format("the slices of ranks {} and {} overlap", sorted[i]->rank, sorted[j]->rank),
            where);
      }
    }
  }
  return {};
}

Status CheckRanks(const IndexedTensor& tensor, const std::string& where) {
  for (std::size_t i = 1; i < tensor.slices.size(); ++i) {
    if (tensor.slices[i - 1].rank >= tensor.slices[i].rank) {
      return Fail(ErrorCode::kCorrupt, "expected the slices in the order of distinct ranks", where);
    }
  }
  return CheckDisjoint(tensor, where);
}

Result<IndexedTensor> ParseTensor(const Json& value, const std::vector<ShardFile>& files,
                                  const std::string& where) {
  JsonFields fields(value, where);
  IndexedTensor tensor;
  tensor.dtype = RequiredDType(&fields, "dtype");
  tensor.global_shape = RequiredSizes(&fields, "global_shape");
  const Json* slices = fields.RequiredArray("slices");
  REPRISE_RETURN_IF_ERROR(fields.Finish());
  const auto count = ElementCount(tensor.global_shape);
  if (!count || *count > INT64_MAX / SizeOfDType(tensor.dtype)) {
    return Fail(ErrorCode::kCorrupt, "the tensor has more than 2^63 bytes", where);
  }
  for (std::size_t i = 0; i < slices->size(); ++i) {
    REPRISE_ASSIGN_OR_RETURN(
        IndexedSlice slice,
        ParseSlice((*slices)[i], tensor, files, fmt::format("{}.slices[{}]", where, i)));
    tensor.slices.push_back(std::move(slice));
  }
  REPRISE_RETURN_IF_ERROR(CheckRanks(tensor, where));
  return tensor;
}

// `first_rank` and `world` say which names the files must have.
Status ParseBody(const Json& files, const Json& tensors, int first_rank, int world,
                 const std::string& where, CheckpointIndex* index) {
  // A summary has one file but numbers the ranks of all: files of other ranks stay empty.
  index->files.resize(static_cast<std::size_t>(world));
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::string place = fmt::format("{}: files[{}]", where, i);
    const int rank = first_rank + static_cast<int>(i);
    REPRISE_ASSIGN_OR_RETURN(ShardFile file, ParseFile(files[i], place));
    if (file.name != ShardName(rank, world)) {
      return Fail(ErrorCode::kCorrupt, "expected the name " + ShardName(rank, world),
                  place + ".name");
    }
    index->files[static_cast<std::size_t>(rank)] = std::move(file);
  }
  for (const auto& [key, value] : tensors.items()) {
    const std::string place = fmt::format("{}: tensor \"{}\"", where, Excerpt(key));
    REPRISE_ASSIGN_OR_RETURN(index->tensors[key], ParseTensor(value, index->files, place));
  }
  return {};
}

Result<TrainingState> ParseState(const Json& object, const std::string& where) {
  TrainingState state;
  for (const auto& [key, value] : object.items()) {
    if (!value.is_string()) {
      return Fail(ErrorCode::kCorrupt, "expected a string, found " + DescribeJson(value),
                  fmt::format("{}: state.{}", where, Excerpt(key)));
    }
    state[key] = value.get<std::string>();
  }
  return state;
}

Result<CheckpointIndex> ParseIndexJson(const Json& json, const std::string& where) {
  JsonFields fields(json, where);
  CheckpointIndex index;
  const std::string format = fields.RequiredString("format");
  if (format != kFormat) {
    fields.AddError("format", fmt::format("expected \"{}\", found \"{}\"", kFormat, format));
  }
  index.step = fields.RequiredInteger("step", 0, INT64_MAX);
  const auto world = static_cast<int>(fields.RequiredInteger("world", 1, kMaxWorld));
  const Json* files = fields.RequiredArray("files");
  if (files != nullptr && files->size() != static_cast<std::size_t>(world)) {
    fields.AddError("files", fmt::format("expected {} files, one per rank", world));
  }
  const Json* tensors = fields.RequiredObject("tensors");
  const Json* state = fields.RequiredObject("state");
  REPRISE_RETURN_IF_ERROR(fields.Finish());
  REPRISE_RETURN_IF_ERROR(ParseBody(*files, *tensors, 0, world, where, &index));
  REPRISE_ASSIGN_OR_RETURN(index.state, ParseState(*state, where));
  return index;
}

Result<CheckpointIndex> ParseSummary(const std::string& text, const ShardAddress& address) {
  const std::string where = fmt::format("summary of rank {}", address.rank);
  REPRISE_ASSIGN_OR_RETURN(const Json json, ParseJson(text, where));
  JsonFields fields(json, where);
  CheckpointIndex shard;
  shard.step = fields.RequiredInteger("step", address.step, address.step);
  fields.RequiredInteger("rank", address.rank, address.rank);
  fields.RequiredInteger("world", address.world, address.world);
  const Json* files = fields.RequiredArray("files");
  if (files != nullptr && files->size() != 1) {
    fields.AddError("files", "expected one file");
  }
  const Json* tensors = fields.RequiredObject("tensors");
  REPRISE_RETURN_IF_ERROR(fields.Finish());
  REPRISE_RETURN_IF_ERROR(ParseBody(*files, *tensors, address.rank, address.world, where, &shard));
  return shard;
}

Status JoinTensor(const std::string& key, IndexedTensor&& part, int rank, CheckpointIndex* index) {
  const auto [found, is_new] = index->tensors.try_emplace(key, IndexedTensor{});
  IndexedTensor& tensor = found->second;
  if (is_new) {
    tensor = std::move(part);
    return {};
  }
  if (tensor.dtype != part.dtype || tensor.global_shape != part.global_shape) {
    return Fail(
        ErrorCode::kInvalidInput,
        fmt::format("rank {} has another element type or global shape than the ranks below it",
                    rank),
        key);
  }
  std::move(part.slices.begin(), part.slices.end(), std::back_inserter(tensor.slices));
  return {};
}

Error AsWrongInput(Error error) {
  error.code = ErrorCode::kInvalidInput;
  return error;
}

}  // namespace

std::string ShardName(int rank, int world) {
  return fmt::format("shard-{:05}-of-{:05}.safetensors", rank + 1, world);
}

ShardSummary SummaryText(const CheckpointIndex& shard, const ShardAddress& address) {
  return fmt::format("{{\"step\": {}, \"rank\": {}, \"world\": {},\n{}}}\n", address.step,
                     address.rank, address.world, BodyText(shard));
}

Result<CheckpointIndex> JoinSummaries(const ShardAddress& address,
                                      std::span<const ShardSummary> summaries) {
  if (address.world < 1 || address.world > kMaxWorld || address.step < 0 ||
      summaries.size() != static_cast<std::size_t>(address.world)) {
    return Fail(ErrorCode::kInvalidInput,
                fmt::format("expected one summary per rank: {} summaries, world size {}, step {}",
                            summaries.size(), address.world, address.step));
  }
  CheckpointIndex index{.step = address.step};
  for (int rank = 0; rank < address.world; ++rank) {
    auto shard = ParseSummary(summaries[static_cast<std::size_t>(rank)],
                              {.step = address.step, .rank = rank, .world = address.world});
    if (!shard) {
      return tl::make_unexpected(AsWrongInput(std::move(shard).error()));
    }
    index.files.push_back(shard->files[static_cast<std::size_t>(rank)]);
    for (auto& [key, tensor] : shard->tensors) {
      REPRISE_RETURN_IF_ERROR(JoinTensor(key, std::move(tensor), rank, &index));
    }
  }
  for (const auto& [key, tensor] : index.tensors) {
    if (auto status = CheckRanks(tensor, key); !status) {
      return tl::make_unexpected(AsWrongInput(std::move(status).error()));
    }
  }
  return index;
}

Result<std::string> IndexText(const CheckpointIndex& index) {
  for (const auto& [key, value] : index.state) {
    REPRISE_RETURN_IF_ERROR(CheckUtf8(key, "name of a training state value"));
    REPRISE_RETURN_IF_ERROR(CheckUtf8(value, "training state \"" + key + "\""));
  }
  const std::string state =
      ObjectText(index.state, [](const std::string& value) { return OrderedJson(value); });
  std::string text =
      fmt::format("{{\n\"format\": \"{}\",\n\"step\": {},\n\"world\": {},\n{},{}{}\n}}\n", kFormat,
                  index.step, index.files.size(), BodyText(index), kStateLine, state);
  if (static_cast<std::int64_t>(text.size()) > kMaxIndexBytes) {
    return Fail(ErrorCode::kInvalidInput,
                fmt::format("the index has {} bytes, at most {} are possible", text.size(),
                            kMaxIndexBytes));
  }
  return text;
}

Result<CheckpointIndex> ParseIndex(std::string_view text, const std::string& where) {
  auto json = ParseJson(text, where);
  if (!json) {
    return tl::make_unexpected(AsDamage(std::move(json).error()));
  }
  auto index = ParseIndexJson(*json, where);
  if (!index) {
    return tl::make_unexpected(AsDamage(std::move(index).error()));
  }
  return index;
}

ByteRange FindTrainingState(std::string_view text) {
  // Inside a JSON string there is no raw newline, so this is never a value that looks like the
  // line.
  const std::size_t line = text.rfind(kStateLine);
  const std::size_t end = text.rfind("\n}");
  if (line == std::string_view::npos || end == std::string_view::npos || end <= line) {
    return {};
  }
  const std::size_t begin = line + kStateLine.size();
  return {static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end - begin)};
}

}  // namespace reprise
