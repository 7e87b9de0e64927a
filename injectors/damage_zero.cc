// Overwrites one page of a region with zeros.
//
// Models: a block that was allocated and never written, as file systems leave it after a power
// loss.

#include <fmt/format.h>

#include <algorithm>

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

class DamageZero final : public Damage {
 public:
  DamageZero(Aim aim, const Params& /*params*/) : Damage(std::move(aim), Hits::kRegions) {}

 private:
  Status Do(const DamageTargets& regions, const FolderContext& /*context*/,
            Random& random) override {
    const std::size_t first = random.Below(regions.size());
    for (std::size_t i = 0; i < regions.size() && Firings().empty(); ++i) {
      REPRISE_RETURN_IF_ERROR(ZeroOnePage(regions[(first + i) % regions.size()], random));
    }
    if (Firings().empty()) {
      Decline("all bytes are zero already: " + regions[first].ToText());
    }
    return {};
  }

  // A page that is zero already would be a fault without effect: the next one is taken.
  Status ZeroOnePage(const DamageTarget& target, Random& random) {
    const std::int64_t count = PageCount(target.region);
    const auto first = static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(count)));
    for (std::int64_t i = 0; i < count; ++i) {
      const Span span = PageOf(target.region, (first + i) % count);
      const std::string zeros(static_cast<std::size_t>(span.end - span.begin), '\0');
      REPRISE_ASSIGN_OR_RETURN(const std::string before,
                               ReadTarget(target, span.begin, span.end - span.begin));
      if (before != zeros) {
        return Overwrite(
            target, span.begin, zeros,
            fmt::format("zeroed bytes {} to {} of {}", span.begin, span.end - 1, target.ToText()));
      }
    }
    return {};
  }
};

}  // namespace

InjectorInfo DamageZeroInfo() {
  return {.name = "damage.zero",
          .help = "overwrites one page of a checkpoint with zeros",
          .stage = InjectorStage::kFolder,
          .params = AimParams("tensor"),
          .make = MakeDamage<DamageZero>};
}

}  // namespace reprise
