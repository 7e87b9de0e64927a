#include "formats/sharded_safetensors_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <tuple>
#include <utility>

#include "formats/checkpoint_index.h"
#include "formats/durable_files.h"
#include "formats/safetensors.h"
#include "formats/slice_copy.h"
#include "harness/base/content_id.h"
#include "harness/base/files.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxCommitBytes = 4096;

// A missing file of a checkpoint that exists is damage.
Error AsDamagedFile(Error error) {
  if (error.code == ErrorCode::kNotFound) {
    error.code = ErrorCode::kCorrupt;
    error.message = "this file of the checkpoint is missing";
  }
  return error;
}

Result<std::string> ReadWhole(const fs::path& path, std::uint64_t max_bytes) {
  auto content = ReadFile(path, max_bytes);
  if (!content) {
    return tl::make_unexpected(AsDamagedFile(std::move(content).error()));
  }
  return content;
}

Result<std::string> ReadRange(const fs::path& path, std::int64_t offset_bytes,
                              std::int64_t length_bytes) {
  auto content = ReadFileRange(path, static_cast<std::uint64_t>(offset_bytes),
                               static_cast<std::uint64_t>(length_bytes));
  if (!content) {
    return tl::make_unexpected(AsDamagedFile(std::move(content).error()));
  }
  return content;
}

Status CheckSize(const fs::path& path, std::int64_t expected_bytes) {
  struct stat status = {};
  if (lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) {
      return Fail(ErrorCode::kCorrupt, "this file of the checkpoint is missing", path.string());
    }
    return FailErrno(errno, "cannot stat", path.string());
  }
  if (!S_ISREG(status.st_mode) || status.st_size != expected_bytes) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("expected a regular file of {} bytes, found {} bytes", expected_bytes,
                            status.st_size),
                path.string());
  }
  return {};
}

// For a header that is whole but not the expected one: which shard it says to be.
std::string DescribeStranger(std::string_view header, std::int64_t file_bytes) {
  const auto parsed = ParseSafetensorsHeader(header, file_bytes, "");
  if (!parsed || !parsed->metadata.contains("step") || !parsed->metadata.contains("rank")) {
    return "";
  }
  return fmt::format("; the file says that it was written by rank {} at step {}",
                     parsed->metadata.at("rank"), parsed->metadata.at("step"));
}

// The header and the index must tell the same of each tensor, and of no other.
Status CompareWithIndex(const SafetensorsHeader& header, const CheckpointIndex& index, int rank,
                        const std::string& where) {
  std::size_t expected_count = 0;
  for (const auto& [key, tensor] : index.tensors) {
    expected_count += static_cast<std::size_t>(
        std::count_if(tensor.slices.begin(), tensor.slices.end(),
                      [rank](const IndexedSlice& slice) { return slice.rank == rank; }));
  }
  if (header.entries.size() != expected_count) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("expected {} tensors as in index.json, found {}", expected_count,
                            header.entries.size()),
                where);
  }
  for (const SafetensorsEntry& entry : header.entries) {
    const auto found = index.tensors.find(entry.name);
    const bool equal = found != index.tensors.end() && found->second.dtype == entry.dtype &&
                       std::any_of(found->second.slices.begin(), found->second.slices.end(),
                                   [&entry, rank](const IndexedSlice& slice) {
                                     return slice.rank == rank &&
                                            slice.slice.extents == entry.shape &&
                                            slice.begin_bytes == entry.begin_bytes;
                                   });
    if (!equal) {
      return Fail(ErrorCode::kCorrupt, "the header does not agree with index.json",
                  where + ": tensor \"" + entry.name + "\"");
    }
  }
  return {};
}

Status CheckShard(const fs::path& folder, const CheckpointIndex& index, int rank) {
  const ShardFile& file = index.files[static_cast<std::size_t>(rank)];
  const fs::path path = folder / file.name;
  REPRISE_RETURN_IF_ERROR(CheckSize(path, file.size_bytes));
  if (file.header_bytes > kMaxSafetensorsHeaderBytes) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("index.json gives it a header of {} bytes, at most {} are possible",
                            file.header_bytes, kMaxSafetensorsHeaderBytes),
                path.string());
  }
  REPRISE_ASSIGN_OR_RETURN(const std::string header, ReadRange(path, 0, file.header_bytes));
  if (ContentId(header) != file.header_checksum) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("the header (bytes 0 to {}) is not the one that index.json names{}",
                            file.header_bytes - 1, DescribeStranger(header, file.size_bytes)),
                path.string());
  }
  REPRISE_ASSIGN_OR_RETURN(const SafetensorsHeader parsed,
                           ParseSafetensorsHeader(header, file.size_bytes, path.string()));
  return CompareWithIndex(parsed, index, rank, path.string());
}

class Reader final : public CheckpointReader {
 public:
  Reader(fs::path folder, const std::string& name, CheckpointIndex index,
         const std::string& index_text, std::int64_t commit_bytes)
      : folder_(std::move(folder)), index_(std::move(index)) {
    layout_.checkpoint = name;
    layout_.step = index_.step;
    AddSmallFiles(index_text, commit_bytes);
    AddShards();
    std::sort(layout_.regions.begin(), layout_.regions.end(),
              [](const LayoutRegion& a, const LayoutRegion& b) {
                return std::tie(a.file, a.offset_bytes) < std::tie(b.file, b.offset_bytes);
              });
  }

  [[nodiscard]] const Layout& GetLayout() const override { return layout_; }
  [[nodiscard]] const TrainingState& GetTrainingState() const override { return index_.state; }

  Status Read(const std::string& key, const Slice& wanted, std::span<std::byte> out) override;
  Result<std::string> ReadRegion(const LayoutRegion& region) override;
  Status Verify() override;

 private:
  void AddRegion(const std::string& file, ByteRange range, RegionKind kind);
  void AddSmallFiles(const std::string& index_text, std::int64_t commit_bytes);
  void AddShards();
  [[nodiscard]] Result<std::string> ReadSlice(const std::string& key,
                                              const IndexedSlice& slice) const;

  fs::path folder_;  // of this checkpoint
  CheckpointIndex index_;
  Layout layout_;
};

void Reader::AddRegion(const std::string& file, ByteRange range, RegionKind kind) {
  if (range.length_bytes > 0) {
    LayoutRegion region;
    region.file = layout_.checkpoint + "/" + file;
    region.offset_bytes = range.offset_bytes;
    region.length_bytes = range.length_bytes;
    region.kind = kind;
    layout_.regions.push_back(std::move(region));
  }
}

void Reader::AddSmallFiles(const std::string& index_text, std::int64_t commit_bytes) {
  AddRegion(kCommitFile, {0, commit_bytes}, RegionKind::kCommitMark);
  const ByteRange state = FindTrainingState(index_text);
  const std::int64_t state_end = state.offset_bytes + state.length_bytes;
  AddRegion(kIndexFile, {0, state.offset_bytes}, RegionKind::kIndex);
  AddRegion(kIndexFile, state, RegionKind::kTrainingState);
  AddRegion(kIndexFile, {state_end, static_cast<std::int64_t>(index_text.size()) - state_end},
            RegionKind::kIndex);
}

void Reader::AddShards() {
  for (std::size_t rank = 0; rank < index_.files.size(); ++rank) {
    const ShardFile& file = index_.files[rank];
    AddRegion(file.name, {0, file.header_bytes}, RegionKind::kHeader);
    layout_.regions.back().rank = static_cast<int>(rank);
  }
  for (const auto& [key, tensor] : index_.tensors) {
    for (const IndexedSlice& slice : tensor.slices) {
      const ShardFile& file = index_.files[static_cast<std::size_t>(slice.rank)];
      layout_.regions.push_back({.file = layout_.checkpoint + "/" + file.name,
                                 .offset_bytes = file.header_bytes + slice.begin_bytes,
                                 .length_bytes = slice.end_bytes - slice.begin_bytes,
                                 .kind = RegionKind::kTensorData,
                                 .rank = slice.rank,
                                 .tensor = key,
                                 .dtype = tensor.dtype,
                                 .global_shape = tensor.global_shape,
                                 .slice = slice.slice});
    }
  }
}

Result<std::string> Reader::ReadSlice(const std::string& key, const IndexedSlice& slice) const {
  const ShardFile& file = index_.files[static_cast<std::size_t>(slice.rank)];
  const fs::path path = folder_ / file.name;
  const std::int64_t begin = file.header_bytes + slice.begin_bytes;
  REPRISE_ASSIGN_OR_RETURN(std::string data,
                           ReadRange(path, begin, slice.end_bytes - slice.begin_bytes));
  if (ContentId(data) != slice.checksum) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("the checksum of bytes {} to {} is not the one that index.json names",
                            begin, file.header_bytes + slice.end_bytes - 1),
                fmt::format("{}: tensor \"{}\"", path.string(), key));
  }
  return data;
}

Status CheckBox(const IndexedTensor& tensor, const Slice& wanted, std::size_t room_bytes,
                const std::string& where) {
  if (!LiesInside(wanted, tensor.global_shape)) {
    return Fail(ErrorCode::kInvalidInput,
                fmt::format("the box with offsets [{}] and extents [{}] is not inside [{}]",
                            fmt::join(wanted.offsets, ","), fmt::join(wanted.extents, ","),
                            fmt::join(tensor.global_shape, ",")),
                where);
  }
  const std::int64_t bytes = *ElementCount(wanted.extents) * SizeOfDType(tensor.dtype);
  if (room_bytes != static_cast<std::size_t>(bytes)) {
    return Fail(ErrorCode::kInvalidInput,
                fmt::format("expected room for {} bytes, got {}", bytes, room_bytes), where);
  }
  return {};
}

struct Part {
  const IndexedSlice* stored;
  Slice common;
};

// The stored slices that make up the box. They do not overlap, so counting shows a hole.
Result<std::vector<Part>> FindParts(const IndexedTensor& tensor, const Slice& wanted,
                                    const std::string& where) {
  std::vector<Part> parts;
  std::int64_t missing = *ElementCount(wanted.extents);
  if (missing == 0) {
    return parts;
  }
  for (const IndexedSlice& stored : tensor.slices) {
    if (std::optional<Slice> common = Intersect(stored.slice, wanted)) {
      missing -= *ElementCount(common->extents);
      parts.push_back({&stored, *std::move(common)});
    }
  }
  if (missing != 0) {
    return Fail(ErrorCode::kNotFound,
                fmt::format("the shards do not hold {} elements of the box", missing), where);
  }
  return parts;
}

Status Reader::Read(const std::string& key, const Slice& wanted, std::span<std::byte> out) {
  const std::string where = fmt::format("{}: tensor \"{}\"", (folder_ / kIndexFile).string(), key);
  const auto found = index_.tensors.find(key);
  if (found == index_.tensors.end()) {
    return Fail(ErrorCode::kNotFound, "no tensor of that name in the checkpoint", where);
  }
  const IndexedTensor& tensor = found->second;
  REPRISE_RETURN_IF_ERROR(CheckBox(tensor, wanted, out.size(), where));
  REPRISE_ASSIGN_OR_RETURN(const std::vector<Part> parts, FindParts(tensor, wanted, where));
  for (const Part& part : parts) {
    REPRISE_ASSIGN_OR_RETURN(const std::string data, ReadSlice(key, *part.stored));
    CopyBox(part.common, SizeOfDType(tensor.dtype), part.stored->slice,
            std::as_bytes(std::span(data)), wanted, out);
  }
  return {};
}

Result<std::string> Reader::ReadRegion(const LayoutRegion& region) {
  if (const auto found = index_.tensors.find(region.tensor);
      region.kind == RegionKind::kTensorData && found != index_.tensors.end()) {
    for (const IndexedSlice& slice : found->second.slices) {
      if (slice.rank == region.rank && slice.slice == region.slice) {
        return ReadSlice(region.tensor, slice);
      }
    }
  }
  return Fail(
      ErrorCode::kInvalidInput,
      fmt::format("\"{}\" of {} is no stored slice of this checkpoint", region.tensor, region.file),
      folder_.string());
}

Status Reader::Verify() {
  for (std::size_t rank = 0; rank < index_.files.size(); ++rank) {
    REPRISE_RETURN_IF_ERROR(CheckShard(folder_, index_, static_cast<int>(rank)));
  }
  for (const auto& [key, tensor] : index_.tensors) {
    for (const IndexedSlice& slice : tensor.slices) {
      REPRISE_RETURN_IF_ERROR(ReadSlice(key, slice));
    }
  }
  return {};
}

Status CheckCommit(const fs::path& path, const std::string& commit, std::int64_t step,
                   const std::string& index_text) {
  REPRISE_RETURN_IF_ERROR(Unseal(commit, path.string()));
  if (commit == CommitText(step, index_text)) {
    return {};
  }
  // The mark is whole: so it is another step's, or the index is not the one that was committed.
  if (commit.find(fmt::format("\nstep {}\n", step)) == std::string::npos) {
    return Fail(
        ErrorCode::kCorrupt,
        fmt::format("the commit mark is not one of step {}, as the folder's name says", step),
        path.string());
  }
  return Fail(ErrorCode::kCorrupt, "the checksum of this file is not the one that COMMIT names",
              (path.parent_path() / kIndexFile).string());
}

}  // namespace

std::string CommitText(std::int64_t step, std::string_view index) {
  return Seal(fmt::format("reprise commit 1\nstep {}\nindex.json {}\n", step, ContentId(index)));
}

namespace {

struct IndexFiles {
  CheckpointIndex index;
  std::string text;  // of index.json
  std::int64_t commit_bytes = 0;
};

Result<IndexFiles> ReadIndexFiles(const fs::path& path, std::int64_t step) {
  std::error_code ignored;
  if (!fs::is_directory(fs::symlink_status(path, ignored))) {
    return Fail(ErrorCode::kNotFound, "no checkpoint of that name", path.string());
  }
  REPRISE_ASSIGN_OR_RETURN(const std::string commit,
                           ReadWhole(path / kCommitFile, kMaxCommitBytes));
  REPRISE_ASSIGN_OR_RETURN(std::string text, ReadWhole(path / kIndexFile, kMaxIndexBytes));
  REPRISE_RETURN_IF_ERROR(CheckCommit(path / kCommitFile, commit, step, text));
  const fs::path index_path = path / kIndexFile;
  REPRISE_ASSIGN_OR_RETURN(CheckpointIndex index, ParseIndex(text, index_path.string()));
  if (index.step != step) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("the index is of step {}, the folder of step {}", index.step, step),
                index_path.string());
  }
  return IndexFiles{std::move(index), std::move(text), static_cast<std::int64_t>(commit.size())};
}

}  // namespace

Result<std::vector<std::string>> FilesOfShardedSafetensors(const fs::path& folder,
                                                           const CheckpointRef& checkpoint) {
  REPRISE_ASSIGN_OR_RETURN(const IndexFiles read,
                           ReadIndexFiles(folder / checkpoint.name, checkpoint.step));
  std::vector<std::string> files;
  for (const ShardFile& file : read.index.files) {
    files.push_back(checkpoint.name + "/" + file.name);
  }
  return files;
}

Result<std::unique_ptr<CheckpointReader>> OpenShardedSafetensors(const fs::path& folder,
                                                                 const CheckpointRef& checkpoint) {
  const fs::path path = folder / checkpoint.name;
  REPRISE_ASSIGN_OR_RETURN(IndexFiles read, ReadIndexFiles(path, checkpoint.step));
  for (std::size_t rank = 0; rank < read.index.files.size(); ++rank) {
    REPRISE_RETURN_IF_ERROR(CheckShard(path, read.index, static_cast<int>(rank)));
  }
  return std::make_unique<Reader>(path, checkpoint.name, std::move(read.index), read.text,
                                  read.commit_bytes);
}

}  // namespace reprise
