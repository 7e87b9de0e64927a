// Flips one bit of a checkpoint.
//
// Models: silent corruption by memory, controller or network, which only a checksum can see.

#include <fmt/format.h>

#include "harness/base/files.h"
#include "injectors/damage.h"

namespace reprise {
namespace {

class DamageFlip final : public Injector {
 public:
  explicit DamageFlip(Aim aim) : aim_(std::move(aim)) {}

  Status OnFolder(const FolderContext& context) override {
    const auto regions = aim_.Regions(context);
    if (regions.empty()) {
      return {};
    }
    Random random = aim_.Draw(context);
    const DamageTarget& target = PickOne(regions, random);
    const auto length = static_cast<std::uint64_t>(target.region.length_bytes);
    const auto at = target.region.offset_bytes + static_cast<std::int64_t>(random.Below(length));
    const auto bit = static_cast<unsigned>(random.Below(8));
    REPRISE_ASSIGN_OR_RETURN(std::string byte,
                             ReadFileRange(target.path, static_cast<std::uint64_t>(at), 1));
    byte[0] = static_cast<char>(static_cast<unsigned char>(byte[0]) ^ (1U << bit));
    REPRISE_ASSIGN_OR_RETURN(const UniqueFd fd, OpenPrivate(target.path));
    REPRISE_RETURN_IF_ERROR(WriteAt(fd, at, byte, target.path));
    CountDamaged(target.region.file);
    CountFired(fmt::format("flipped bit {} of byte {} of {}", bit, at, target.ToText()));
    return {};
  }

 private:
  Aim aim_;
};

Result<std::unique_ptr<Injector>> Make(const Params& params) {
  REPRISE_ASSIGN_OR_RETURN(Aim aim, Aim::Of(params));
  return std::make_unique<DamageFlip>(std::move(aim));
}

}  // namespace

InjectorInfo DamageFlipInfo() {
  return {.name = "damage.flip",
          .help = "flips one bit of a checkpoint",
          .stage = InjectorStage::kFolder,
          .params = AimParams("tensor"),
          .make = Make};
}

}  // namespace reprise
