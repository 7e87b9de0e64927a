#include "injectors/damage.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <system_error>
#include <utility>

#include "harness/base/check.h"
#include "harness/base/files.h"
#include "harness/base/json_fields.h"

namespace reprise {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMaxShardBytes = std::uint64_t{4} << 30;

// Writing through one of several hard links would change the others, which may lie anywhere.
Status BreakHardLinks(const fs::path& path) {
  std::error_code error;
  if (fs::hard_link_count(path, error) <= 1 && !error) {
    return {};
  }
  const fs::path copy = path.string() + ".reprise-private";
  fs::copy_file(path, copy, fs::copy_options::overwrite_existing, error);
  if (!error) {
    fs::rename(copy, path, error);
  }
  return error ? Status(FailErrno(error.value(), "cannot make a private copy", path.string()))
               : Status();
}

Status WriteAt(const UniqueFd& fd, std::int64_t offset_bytes, std::string_view bytes,
               const fs::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = pwrite(fd.Get(), bytes.data(), bytes.size(), offset_bytes);
    if (written <= 0) {
      return FailErrno(written == 0 ? EIO : errno, "cannot write", path.string());
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
    offset_bytes += written;
  }
  return {};
}

// "no tensor \"weight/v\" in checkpoint step-00000008; did you mean \"weight/w\"?"
std::string NoSuchTensor(const std::string& tensor, const Layout& layout) {
  std::vector<std::string> known;
  for (const LayoutRegion& region : layout.regions) {
    known.push_back(region.tensor);
  }
  std::string text = fmt::format("no tensor \"{}\" in checkpoint {}", tensor, layout.checkpoint);
  const auto nearest = NearestWord(tensor, known);
  return nearest ? text + fmt::format("; did you mean \"{}\"?", *nearest) : text;
}

}  // namespace

std::string DamageTarget::ToText() const {
  std::string text = fmt::format("{}, ", region.file);
  text += region.tensor.empty() ? fmt::format("{} region", reprise::ToText(region.kind))
                                : fmt::format("tensor {}", region.tensor);
  if (region.rank >= 0) {
    text += fmt::format(", rank {}", region.rank);
  }
  return text;
}

Result<Aim> Aim::Of(const Params& params) {
  Aim aim;
  aim.age_ = params.Text("checkpoint") == "older" ? 1 : 0;
  aim.kind_ = ParseRegionKind(params.Text("region"));  // nothing for "any"
  if (params.Text("tensor") != "any") {
    aim.tensor_ = params.Text("tensor");
    if (aim.kind_ && *aim.kind_ != RegionKind::kTensorData) {
      return Fail(ErrorCode::kInvalidInput,
                  "a tensor lies in the region \"tensor\", found the region \"" +
                      params.Text("region") + "\"",
                  "region");
    }
  }
  aim.rank_ = static_cast<int>(params.Integer("rank"));
  aim.draw_ = params.Integer("draw");
  return aim;
}

Aim Aim::Older() const {
  Aim older = *this;
  ++older.age_;
  return older;
}

Random Aim::Draw(const FolderContext& context) const {
  return context.random.Split(fmt::format("draw {}", draw_));
}

bool Aim::Allows(const LayoutRegion& region) const {
  return (!kind_ || region.kind == *kind_) && (tensor_.empty() || region.tensor == tensor_) &&
         (rank_ < 0 || region.rank == rank_);
}

const Layout* Aim::LayoutOf(const FolderContext& context) const {
  if (kind_ == RegionKind::kPointer) {
    return &context.folder_layout;
  }
  return age_ < context.checkpoints.size() ? &context.checkpoints[age_] : nullptr;
}

std::string Aim::WhyNothing(const FolderContext& context) const {
  const Layout* layout = LayoutOf(context);
  if (layout == nullptr) {
    return context.checkpoints.empty()
               ? "the folder holds no readable checkpoint"
               : fmt::format("the folder holds no readable checkpoint before {}",
                             context.checkpoints.back().checkpoint);
  }
  const std::string where = layout->checkpoint.empty() ? "in the checkpoint folder"
                                                       : "in checkpoint " + layout->checkpoint;
  const auto has = [layout](auto is_meant) {
    return std::any_of(layout->regions.begin(), layout->regions.end(), is_meant);
  };
  if (kind_ && !has([this](const LayoutRegion& region) { return region.kind == *kind_; })) {
    return fmt::format("no {} region {}", reprise::ToText(*kind_), where);
  }
  if (!tensor_.empty() &&
      !has([this](const LayoutRegion& region) { return region.tensor == tensor_; })) {
    return NoSuchTensor(tensor_, *layout);
  }
  if (!has([this](const LayoutRegion& region) { return Allows(region); })) {
    return fmt::format("rank {} wrote nothing of that {}", rank_, where);
  }
  return fmt::format("what the aim means is missing, empty or cut off {}", where);
}

DamageTargets Aim::Regions(const FolderContext& context) const {
  const Layout* layout = LayoutOf(context);
  DamageTargets targets;
  if (layout == nullptr) {
    return targets;
  }
  for (const LayoutRegion& region : layout->regions) {
    const auto path = Allows(region) ? ResolveInside(context.folder, region.file) : std::nullopt;
    std::error_code error;
    const auto size = path ? fs::file_size(*path, error) : 0;
    // A damaged file may be shorter than its layout says: only what is there can be hit.
    if (path && !error && region.offset_bytes >= 0 && region.length_bytes > 0 &&
        std::cmp_less_equal(region.length_bytes, size) &&
        std::cmp_less_equal(region.offset_bytes,
                            size - static_cast<std::uintmax_t>(region.length_bytes))) {
      targets.push_back({region, layout->checkpoint, *path, static_cast<std::int64_t>(size)});
    }
  }
  return targets;
}

DamageTargets Aim::Files(const FolderContext& context) const {
  DamageTargets files;
  std::set<fs::path> seen;
  for (DamageTarget& target : Regions(context)) {
    if (seen.insert(target.path).second) {
      files.push_back(std::move(target));
    }
  }
  return files;
}

std::vector<ParamSpec> AimParams(std::string default_region, std::vector<ParamSpec> more) {
  std::vector<ParamSpec> params = {
      {.name = "checkpoint",
       .help = "the newest complete checkpoint, or the one before",
       .type = ParamType::kEnum,
       .fallback = "newest",
       .choices = {"newest", "older"}},
      {.name = "region",
       .help = "part of the checkpoint, as its format describes it",
       .type = ParamType::kEnum,
       .fallback = std::move(default_region),
       .choices = {"any", "header", "index", "tensor", "state", "commit", "pointer"}},
      {.name = "tensor",
       .help = "kind/path of a tensor, or any",
       .type = ParamType::kText,
       .fallback = "any"},
      {.name = "rank",
       .help = "only what this rank wrote; -1: whoever wrote it",
       .fallback = "-1",
       .min = -1,
       .max = 65'535,
       .domain = ParamDomain::kRank},
      {.name = "draw",
       .help = "which of the seeded draws decides what the aim leaves open",
       .fallback = "0"},
  };
  std::move(more.begin(), more.end(), std::back_inserter(params));
  return params;
}

Status Damage::OnFolder(const FolderContext& context) {
  const DamageTargets targets = hits_ == Hits::kFiles ? aim_.Files(context) : aim_.Regions(context);
  if (targets.empty()) {
    Decline(aim_.WhyNothing(context));
    return {};
  }
  Random random = aim_.Draw(context);
  return Do(targets, context, random);
}

Status Damage::Overwrite(const DamageTarget& target, std::int64_t offset_bytes,
                         std::string_view bytes, std::string what) {
  REPRISE_ASSIGN_OR_RETURN(const UniqueFd fd, OpenPrivate(target.path));
  REPRISE_RETURN_IF_ERROR(WriteAt(fd, offset_bytes, bytes, target.path));
  CountDamaged(target.region.file);
  CountFired(std::move(what));
  return {};
}

Status Damage::Replace(const DamageTarget& target, std::string_view content) {
  REPRISE_RETURN_IF_ERROR(WriteFileAtomically(target.path, content));
  CountDamaged(target.region.file);
  return {};
}

const DamageTarget& PickOne(const DamageTargets& targets, Random& random) {
  REPRISE_CHECK(!targets.empty(), "no target");
  return targets[random.Below(targets.size())];
}

const DamageTarget* Counterpart(const DamageTargets& files, std::size_t index,
                                const DamageTargets& others, int rank) {
  const LayoutRegion& wanted = files[index].region;
  const auto belongs = [&wanted](const DamageTarget& target, int of_rank) {
    return target.region.rank == of_rank && target.region.kind == wanted.kind;
  };
  const auto end = files.begin() + static_cast<std::ptrdiff_t>(index);
  auto before = std::count_if(
      files.begin(), end, [&](const DamageTarget& target) { return belongs(target, wanted.rank); });
  for (const DamageTarget& other : others) {
    if (belongs(other, rank) && before-- == 0) {
      return &other;
    }
  }
  return nullptr;
}

Result<std::string> ReadTarget(const DamageTarget& target) {
  return ReadFile(target.path, kMaxShardBytes);
}

Result<std::string> ReadTarget(const DamageTarget& target, std::int64_t offset_bytes,
                               std::int64_t length_bytes) {
  return ReadFileRange(target.path, static_cast<std::uint64_t>(offset_bytes),
                       static_cast<std::uint64_t>(length_bytes));
}

std::optional<fs::path> ResolveInside(const fs::path& folder, const std::string& file) {
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  if (error || file.empty() || fs::path(file).is_absolute()) {
    return std::nullopt;
  }
  const fs::path real = fs::canonical(root / file, error);
  if (error || !fs::is_regular_file(real, error) || error) {
    return std::nullopt;
  }
  const auto [root_end, unused] = std::mismatch(root.begin(), root.end(), real.begin(), real.end());
  return root_end == root.end() ? std::optional(real) : std::nullopt;
}

Result<UniqueFd> OpenPrivate(const fs::path& path) {
  REPRISE_RETURN_IF_ERROR(BreakHardLinks(path));
  UniqueFd fd(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.IsValid()) {
    return FailErrno(errno, "cannot open for damaging", path.string());
  }
  return fd;
}

}  // namespace reprise
