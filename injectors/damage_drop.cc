// Removes one file of a checkpoint.
//
// Models: a shard that was never uploaded, a cleaned scratch disk, a lost object.

#include <filesystem>
#include <system_error>

#include "injectors/damage.h"

namespace reprise {
namespace {

class DamageDrop final : public Damage {
 public:
  DamageDrop(Aim aim, const Params& /*params*/) : Damage(std::move(aim), Hits::kFiles) {}

 private:
  Status Do(const DamageTargets& files, const FolderContext& /*context*/, Random& random) override {
    const DamageTarget& target = PickOne(files, random);
    std::error_code error;
    std::filesystem::remove(target.path, error);
    if (error) {
      return FailErrno(error.value(), "cannot remove", target.path.string());
    }
    CountDamaged(target.region.file);
    CountFired("removed " + target.ToText());
    return {};
  }
};

}  // namespace

InjectorInfo DamageDropInfo() {
  return {.name = "damage.drop",
          .help = "removes one file of a checkpoint",
          .stage = InjectorStage::kFolder,
          .params = AimParams("any"),
          .make = MakeDamage<DamageDrop>};
}

}  // namespace reprise
