// Flips one bit of a checkpoint.
//
// Models: silent corruption by memory, controller or network, which only a checksum can see.

#include <fmt/format.h>

#include "injectors/damage.h"

namespace reprise {
namespace {

class DamageFlip final : public Damage {
 public:
  DamageFlip(Aim aim, const Params& /*params*/) : Damage(std::move(aim), Hits::kRegions) {}

 private:
  Status Do(const DamageTargets& regions, const FolderContext& /*context*/,
            Random& random) override {
    const DamageTarget& target = PickOne(regions, random);
    const auto length = static_cast<std::uint64_t>(target.region.length_bytes);
    const auto at = target.region.offset_bytes + static_cast<std::int64_t>(random.Below(length));
    const auto bit = static_cast<unsigned>(random.Below(8));
    REPRISE_ASSIGN_OR_RETURN(std::string byte, ReadTarget(target, at, 1));
    byte[0] = static_cast<char>(static_cast<unsigned char>(byte[0]) ^ (1U << bit));
    return Overwrite(target, at, byte,
                     fmt::format("flipped bit {} of byte {} of {}", bit, at, target.ToText()));
  }
};

}  // namespace

InjectorInfo DamageFlipInfo() {
  return {.name = "damage.flip",
          .help = "flips one bit of a checkpoint",
          .stage = InjectorStage::kFolder,
          .params = AimParams("tensor"),
          .make = MakeDamage<DamageFlip>};
}

}  // namespace reprise
