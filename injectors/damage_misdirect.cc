// Writes a page of one region over another place of the checkpoint.
//
// Models: a write that a controller or a file system put at another address. Bytes are lost where
// it landed; they look like data, and their lengths are right.

#include <fmt/format.h>

#include <algorithm>

#include "injectors/damage.h"

namespace reprise {
namespace {

constexpr std::int64_t kPageBytes = 4096;

std::int64_t DrawOffset(const LayoutRegion& region, std::int64_t length_bytes, Random& random) {
  const auto room = static_cast<std::uint64_t>(region.length_bytes - length_bytes) + 1;
  return region.offset_bytes + static_cast<std::int64_t>(random.Below(room));
}

class DamageMisdirect final : public Damage {
 public:
  DamageMisdirect(Aim aim, const Params& /*params*/) : Damage(std::move(aim), Hits::kRegions) {}

 private:
  Status Do(const DamageTargets& regions, const FolderContext& /*context*/,
            Random& random) override {
    const DamageTarget& target = PickOne(regions, random);
    const std::size_t first = random.Below(regions.size());
    for (std::size_t i = 0; i < regions.size() && Firings().empty(); ++i) {
      REPRISE_RETURN_IF_ERROR(Misdirect(regions[(first + i) % regions.size()], target, random));
    }
    if (Firings().empty()) {
      Decline("no other bytes that could land in " + target.ToText());
    }
    return {};
  }

  // Does nothing where both places hold the same bytes: that would be a fault without effect.
  Status Misdirect(const DamageTarget& source, const DamageTarget& target, Random& random) {
    const std::int64_t length =
        std::min({kPageBytes, source.region.length_bytes, target.region.length_bytes});
    const std::int64_t from = DrawOffset(source.region, length, random);
    const std::int64_t to = DrawOffset(target.region, length, random);
    REPRISE_ASSIGN_OR_RETURN(const std::string bytes, ReadTarget(source, from, length));
    REPRISE_ASSIGN_OR_RETURN(const std::string before, ReadTarget(target, to, length));
    if (bytes == before) {
      return {};
    }
    return Overwrite(target, to, bytes,
                     fmt::format("wrote {} bytes from byte {} of {} over byte {} of {}", length,
                                 from, source.ToText(), to, target.ToText()));
  }
};

}  // namespace

InjectorInfo DamageMisdirectInfo() {
  return {.name = "damage.misdirect",
          .help = "writes a page of the checkpoint over another place of it",
          .stage = InjectorStage::kFolder,
          .params = AimParams("tensor"),
          .make = MakeDamage<DamageMisdirect>};
}

}  // namespace reprise
