// The format "sharded-safetensors": one safetensors file per rank, an index with checksums and the
// training state, a commit mark, a pointer.
//
// Models a checkpoint that survives kills and names damage: shards are written and synced inside
// step-N.partial, which no reader lists; the index, the mark and a rename make it a checkpoint;
// every byte is covered by a checksum. Specified in docs/checkpoint-format.md. Several ranks may
// call WriteShard of one step at once: each touches its own file only.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include "formats/checkpoint_format.h"
#include "formats/checkpoint_index.h"
#include "formats/durable_files.h"
#include "formats/json_shape.h"
#include "formats/safetensors.h"
#include "formats/sharded_safetensors_reader.h"
#include "harness/base/content_id.h"
#include "harness/base/files.h"
#include "harness/base/json_fields.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPointerFile = "latest";
constexpr const char* kPointerTemporary = "latest.tmp";
constexpr std::string_view kPartial = ".partial";
constexpr std::string_view kTrash = ".trash";
constexpr std::uint64_t kMaxPointerBytes = 4096;

std::string StepName(std::int64_t step) { return fmt::format("step-{:08}", step); }

// "step-00000020" -> 20; nothing for any other spelling.
std::optional<std::int64_t> ParseStepName(std::string_view name) {
  constexpr std::string_view kPrefix = "step-";
  if (!name.starts_with(kPrefix)) {
    return std::nullopt;
  }
  std::int64_t step = -1;
  std::from_chars(name.data() + kPrefix.size(), name.data() + name.size(), step);
  return step >= 0 && StepName(step) == name ? std::optional(step) : std::nullopt;
}

// The step of "step-00000020.partial" for the suffix ".partial".
std::optional<std::int64_t> ParseWithSuffix(std::string_view name, std::string_view suffix) {
  if (!name.ends_with(suffix)) {
    return std::nullopt;
  }
  return ParseStepName(name.substr(0, name.size() - suffix.size()));
}

std::string PointerText(const std::string& name) { return Seal(name + "\n"); }

// What the pointer names, or nothing when it is missing or damaged: the folder can do without.
std::optional<std::string> ReadPointer(const fs::path& folder) {
  const fs::path path = folder / kPointerFile;
  const auto text = ReadFile(path, kMaxPointerBytes);
  if (!text) {
    return std::nullopt;
  }
  auto line = Unseal(*text, path.string());
  if (!line || line->empty()) {
    return std::nullopt;
  }
  line->pop_back();
  return *line;
}

Result<std::vector<CheckpointRef>> PublishedNewestFirst(const fs::path& folder) {
  REPRISE_ASSIGN_OR_RETURN(const std::vector<std::string> names, SortedNames(folder));
  std::vector<CheckpointRef> published;
  std::error_code ignored;
  for (const std::string& name : names) {
    const std::optional<std::int64_t> step = ParseStepName(name);
    if (step && fs::is_directory(fs::symlink_status(folder / name, ignored))) {
      published.push_back({.name = name, .step = *step});
    }
  }
  std::sort(published.begin(), published.end(),
            [](const CheckpointRef& a, const CheckpointRef& b) { return a.step > b.step; });
  return published;
}

Status CheckAddress(const ShardAddress& address) {
  if (address.step < 0 || address.world < 1 || address.world > kMaxWorld || address.rank < 0 ||
      address.rank >= address.world) {
    return Fail(
        ErrorCode::kInvalidInput,
        fmt::format("step {}, rank {} of {}: expected step >= 0 and rank below a world size "
                    "of at most {}",
                    address.step, address.rank, address.world, kMaxWorld));
  }
  return {};
}

// The rules of StateEntry.
Status CheckEntry(const StateEntry& entry) {
  REPRISE_RETURN_IF_ERROR(CheckUtf8(entry.key, "key of a tensor"));
  if (entry.key.empty() || entry.key == "__metadata__") {
    return Fail(ErrorCode::kInvalidInput, "this is no name for a tensor", entry.key);
  }
  if (!LiesInside(entry.slice, entry.global_shape) || entry.global_shape.size() > kMaxDimensions) {
    return Fail(ErrorCode::kInvalidInput, "the slice does not lie inside the global shape",
                entry.key);
  }
  const std::int64_t width = SizeOfDType(entry.dtype);
  const auto global_count = ElementCount(entry.global_shape);
  const auto count = ElementCount(entry.slice.extents);
  if (!global_count || *global_count > INT64_MAX / width || !count ||
      entry.data.size() != static_cast<std::uint64_t>(*count * width)) {
    return Fail(ErrorCode::kInvalidInput,
                fmt::format("{} bytes of data do not fit the extents", entry.data.size()),
                entry.key);
  }
  return {};
}

std::string_view AsText(std::span<const std::byte> data) {
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

// Makes the headers of two steps or ranks differ, and tells a reader without index.json what it
// has.
std::map<std::string, std::string> ShardMetadata(
    const ShardAddress& address, const std::map<std::string, const StateEntry*>& stored) {
  Json slices = Json::object();
  for (const auto& [key, entry] : stored) {
    slices[key] = {{"offsets", entry->slice.offsets}, {"global_shape", entry->global_shape}};
  }
  return {{"format", "reprise.sharded-safetensors/1"},
          {"step", std::to_string(address.step)},
          {"rank", std::to_string(address.rank)},
          {"world", std::to_string(address.world)},
          {"slices", DumpJson(slices)}};
}

// A shard as it will lie in its file: `pieces` in order, and what the index will say about it.
struct ShardImage {
  std::string header;
  std::vector<std::string_view> data;
  CheckpointIndex summary;
};

Result<ShardImage> MakeShard(const ShardAddress& address, std::span<const StateEntry> entries) {
  ShardImage image;
  std::map<std::string, const StateEntry*> stored;
  std::vector<SafetensorsEntry> laid_out;
  for (const StateEntry& entry : entries) {
    REPRISE_RETURN_IF_ERROR(CheckEntry(entry));
    const auto [tensor, is_new] = image.summary.tensors.try_emplace(
        entry.key, IndexedTensor{.dtype = entry.dtype, .global_shape = entry.global_shape});
    if (!is_new) {
      return Fail(ErrorCode::kInvalidInput, "one rank gave two slices of this tensor", entry.key);
    }
    if (!entry.data.empty()) {
      stored[entry.key] = &entry;
      laid_out.push_back({.name = entry.key, .dtype = entry.dtype, .shape = entry.slice.extents});
    }
  }
  REPRISE_ASSIGN_OR_RETURN(image.header,
                           LayOutSafetensors(ShardMetadata(address, stored), &laid_out));
  for (const SafetensorsEntry& entry : laid_out) {
    const StateEntry& source = *stored.at(entry.name);
    image.data.push_back(AsText(source.data));
    image.summary.tensors.at(entry.name)
        .slices.push_back({.rank = address.rank,
                           .slice = source.slice,
                           .begin_bytes = entry.begin_bytes,
                           .end_bytes = entry.end_bytes,
                           .checksum = ContentId(AsText(source.data))});
  }
  const auto header_bytes = static_cast<std::int64_t>(image.header.size());
  const std::int64_t data_bytes = laid_out.empty() ? 0 : laid_out.back().end_bytes;
  image.summary.files.push_back({.name = ShardName(address.rank, address.world),
                                 .size_bytes = header_bytes + data_bytes,
                                 .header_bytes = header_bytes,
                                 .header_checksum = ContentId(image.header)});
  return image;
}

// An interrupted save of another world size may have left shards that are not part of this one.
Status RemoveStrangers(const fs::path& partial, const CheckpointIndex& index) {
  REPRISE_ASSIGN_OR_RETURN(const std::vector<std::string> names, SortedNames(partial));
  for (const std::string& name : names) {
    const bool known = name == kIndexFile || name == kCommitFile ||
                       std::any_of(index.files.begin(), index.files.end(),
                                   [&name](const ShardFile& file) { return file.name == name; });
    if (!known) {
      REPRISE_RETURN_IF_ERROR(Unlink(partial / name));
    }
  }
  return {};
}

Status MovePointer(const fs::path& folder, const std::string& name) {
  const std::string text = PointerText(name);
  const std::string_view piece = text;
  REPRISE_RETURN_IF_ERROR(WriteDurably(folder / kPointerTemporary, {&piece, 1}));
  std::error_code ignored;
  if (fs::is_directory(fs::symlink_status(folder / kPointerFile, ignored))) {
    REPRISE_RETURN_IF_ERROR(RemoveFolder(folder / kPointerFile));  // a rename does not replace it
  }
  REPRISE_RETURN_IF_ERROR(Rename(folder / kPointerTemporary, folder / kPointerFile));
  return SyncFolder(folder);
}

// First out of the list, durably, then file by file: a kill leaves a name that nobody lists.
Status RemoveByTrash(const fs::path& folder, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const fs::path trash = folder / (name + std::string(kTrash));
    REPRISE_RETURN_IF_ERROR(RemoveFolder(trash));
    REPRISE_RETURN_IF_ERROR(Rename(folder / name, trash));
  }
  if (!names.empty()) {
    REPRISE_RETURN_IF_ERROR(SyncFolder(folder));
  }
  for (const std::string& name : names) {
    REPRISE_RETURN_IF_ERROR(RemoveFolder(folder / (name + std::string(kTrash))));
  }
  return {};
}

// Leftovers of interrupted saves up to `last_step`, the last published (another rank may be writing
// a later one), and of interrupted retentions.
Status RemoveLeftovers(const fs::path& folder, std::int64_t last_step) {
  REPRISE_ASSIGN_OR_RETURN(const std::vector<std::string> names, SortedNames(folder));
  for (const std::string& name : names) {
    const std::optional<std::int64_t> partial = ParseWithSuffix(name, kPartial);
    if ((partial && *partial <= last_step) || ParseWithSuffix(name, kTrash)) {
      REPRISE_RETURN_IF_ERROR(RemoveFolder(folder / name));
    }
  }
  return {};
}

Result<CheckpointRef> RefOf(const fs::path& folder, const std::string& name) {
  const std::optional<std::int64_t> step = ParseStepName(name);
  if (!step) {
    return Fail(ErrorCode::kNotFound, "\"" + name + "\" is no name of a checkpoint",
                folder.string());
  }
  return CheckpointRef{.name = name, .step = *step};
}

class ShardedSafetensors final : public CheckpointFormat {
 public:
  [[nodiscard]] Result<std::vector<CheckpointRef>> List(const fs::path& folder) const override {
    REPRISE_ASSIGN_OR_RETURN(std::vector<CheckpointRef> refs, PublishedNewestFirst(folder));
    const std::optional<std::string> latest = ReadPointer(folder);
    const auto named = std::find_if(refs.begin(), refs.end(), [&latest](const CheckpointRef& ref) {
      return latest && ref.name == *latest;
    });
    if (named != refs.end()) {
      std::rotate(refs.begin(), named, named + 1);
    }
    return refs;
  }

  [[nodiscard]] Result<std::unique_ptr<CheckpointReader>> Open(
      const fs::path& folder, const std::string& name) const override {
    REPRISE_ASSIGN_OR_RETURN(const CheckpointRef checkpoint, RefOf(folder, name));
    return OpenShardedSafetensors(folder, checkpoint);
  }

  [[nodiscard]] Result<std::vector<std::string>> DemandedFiles(
      const fs::path& folder, const std::string& name) const override {
    REPRISE_ASSIGN_OR_RETURN(const CheckpointRef checkpoint, RefOf(folder, name));
    return FilesOfShardedSafetensors(folder, checkpoint);
  }

  [[nodiscard]] Result<Layout> FolderLayout(const fs::path& folder) const override {
    Layout layout;
    std::error_code error;
    const auto size = fs::file_size(folder / kPointerFile, error);
    if (!error && size > 0) {
      LayoutRegion& region = layout.regions.emplace_back();
      region.file = kPointerFile;
      region.length_bytes = static_cast<std::int64_t>(size);
      region.kind = RegionKind::kPointer;
    }
    return layout;
  }

  [[nodiscard]] std::string PointerTo(const std::string& name) const override {
    return PointerText(name);
  }

  [[nodiscard]] Result<ShardSummary> WriteShard(
      const fs::path& folder, const ShardAddress& address,
      std::span<const StateEntry> entries) const override {
    REPRISE_RETURN_IF_ERROR(CheckAddress(address));
    REPRISE_ASSIGN_OR_RETURN(const ShardImage image, MakeShard(address, entries));
    const fs::path partial = folder / (StepName(address.step) + std::string(kPartial));
    REPRISE_RETURN_IF_ERROR(MakeFolders(folder));
    REPRISE_RETURN_IF_ERROR(MakeFolder(partial));
    std::vector<std::string_view> pieces = {image.header};
    pieces.insert(pieces.end(), image.data.begin(), image.data.end());
    REPRISE_RETURN_IF_ERROR(WriteDurably(partial / ShardName(address.rank, address.world), pieces));
    return SummaryText(image.summary, address);
  }

  [[nodiscard]] Status Publish(const fs::path& folder, const ShardAddress& address,
                               std::span<const ShardSummary> summaries,
                               const TrainingState& state) const override {
    REPRISE_ASSIGN_OR_RETURN(CheckpointIndex index, JoinSummaries(address, summaries));
    index.state = state;
    REPRISE_ASSIGN_OR_RETURN(const std::string text, IndexText(index));
    const std::string commit = CommitText(address.step, text);
    const std::string name = StepName(address.step);
    const fs::path partial = folder / (name + std::string(kPartial));
    REPRISE_RETURN_IF_ERROR(RemoveStrangers(partial, index));
    std::string_view piece = text;
    REPRISE_RETURN_IF_ERROR(WriteDurably(partial / kIndexFile, {&piece, 1}));
    piece = commit;
    REPRISE_RETURN_IF_ERROR(WriteDurably(partial / kCommitFile, {&piece, 1}));
    REPRISE_RETURN_IF_ERROR(SyncFolder(partial));
    std::error_code ignored;
    const bool replaces = fs::exists(fs::symlink_status(folder / name, ignored));
    // A checkpoint of this step is good until the new one stands in its place; what it was then
    // lies under the name of a leftover.
    REPRISE_RETURN_IF_ERROR(replaces ? Exchange(partial, folder / name)
                                     : Rename(partial, folder / name));
    REPRISE_RETURN_IF_ERROR(SyncFolder(folder));
    REPRISE_RETURN_IF_ERROR(MovePointer(folder, name));
    return replaces ? RemoveFolder(partial) : Status{};
  }

  // A checkpoint counts as kept only if it opens, so damaged ones never push the last good one out.
  [[nodiscard]] Status Collect(const fs::path& folder, int keep) const override {
    if (keep < 1) {
      return Fail(ErrorCode::kInvalidInput, fmt::format("expected keep >= 1, got {}", keep));
    }
    REPRISE_ASSIGN_OR_RETURN(const std::vector<CheckpointRef> refs, PublishedNewestFirst(folder));
    const std::optional<std::string> latest = ReadPointer(folder);
    std::vector<std::string> old;
    int kept = 0;
    for (const CheckpointRef& ref : refs) {
      if (kept >= keep && ref.name != latest) {
        old.push_back(ref.name);
      } else if (OpenShardedSafetensors(folder, ref)) {
        ++kept;
      }
    }
    REPRISE_RETURN_IF_ERROR(RemoveByTrash(folder, old));
    // After a fall-back the last save is older than the newest name.
    const std::optional<std::int64_t> last = latest ? ParseStepName(*latest) : std::nullopt;
    return RemoveLeftovers(folder, last.value_or(refs.empty() ? -1 : refs.front().step));
  }
};

}  // namespace

FormatInfo ShardedSafetensorsInfo() {
  return {
      .name = "sharded-safetensors",
      .help = "one safetensors file per rank, an index with checksums, a commit mark, a pointer",
      .make = []() -> std::unique_ptr<CheckpointFormat> {
        return std::make_unique<ShardedSafetensors>();
      }};
}

}  // namespace reprise
