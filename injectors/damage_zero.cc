// Overwrites one page of a region with zeros.
//
// Models: a block that was allocated and never written, as file systems leave it after a power
// loss.

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/files.h"
#include "injectors/damage.h"

namespace reprise {
namespace {

constexpr std::int64_t kPageBytes = 4096;

struct Span {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// The n-th page of the file that overlaps the region, cut to the region.
Span PageOf(const LayoutRegion& region, std::int64_t n) {
  const std::int64_t region_end = region.offset_bytes + region.length_bytes;
  const std::int64_t page = (region.offset_bytes / kPageBytes + n) * kPageBytes;
  return {std::max(page, region.offset_bytes), std::min(page + kPageBytes, region_end)};
}

std::int64_t PageCount(const LayoutRegion& region) {
  const std::int64_t last = region.offset_bytes + region.length_bytes - 1;
  return last / kPageBytes - region.offset_bytes / kPageBytes + 1;
}

class DamageZero final : public Injector {
 public:
  explicit DamageZero(Aim aim) : aim_(std::move(aim)) {}

  Status OnFolder(const FolderContext& context) override {
    const auto regions = aim_.Regions(context);
    if (regions.empty()) {
      return {};
    }
    Random random = aim_.Draw(context);
    const DamageTarget& target = PickOne(regions, random);
    const std::int64_t count = PageCount(target.region);
    const auto first = static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(count)));
    // A page that is zero already would be a fault without effect: the next one is taken.
    for (std::int64_t i = 0; i < count; ++i) {
      const Span span = PageOf(target.region, (first + i) % count);
      REPRISE_ASSIGN_OR_RETURN(const bool changed, Zero(target, span));
      if (changed) {
        break;
      }
    }
    return {};
  }

 private:
  // False when the bytes were zero before.
  Result<bool> Zero(const DamageTarget& target, Span span) {
    const auto length = static_cast<std::size_t>(span.end - span.begin);
    REPRISE_ASSIGN_OR_RETURN(
        const std::string before,
        ReadFileRange(target.path, static_cast<std::uint64_t>(span.begin), length));
    const std::string zeros(length, '\0');
    if (before == zeros) {
      return false;
    }
    REPRISE_ASSIGN_OR_RETURN(const UniqueFd fd, OpenPrivate(target.path));
    REPRISE_RETURN_IF_ERROR(WriteAt(fd, span.begin, zeros, target.path));
    CountDamaged(target.region.file);
    CountFired(
        fmt::format("zeroed bytes {} to {} of {}", span.begin, span.end - 1, target.ToText()));
    return true;
  }

  Aim aim_;
};

Result<std::unique_ptr<Injector>> Make(const Params& params) {
  REPRISE_ASSIGN_OR_RETURN(Aim aim, Aim::Of(params));
  return std::make_unique<DamageZero>(std::move(aim));
}

}  // namespace

InjectorInfo DamageZeroInfo() {
  return {.name = "damage.zero",
          .help = "overwrites one page of a checkpoint with zeros",
          .stage = InjectorStage::kFolder,
          .params = AimParams("tensor"),
          .make = Make};
}

}  // namespace reprise
