// Puts a second copy of one file of a checkpoint in the place of another one.
//
// Models: one shard uploaded under two names, two ranks that take themselves for the same one.

#include <fmt/format.h>

#include "injectors/damage.h"

namespace reprise {
namespace {

class DamageDuplicate final : public Damage {
 public:
  DamageDuplicate(Aim aim, const Params& /*params*/) : Damage(std::move(aim), Hits::kFiles) {}

 private:
  Status Do(const DamageTargets& files, const FolderContext& /*context*/, Random& random) override {
    const DamageTarget& source = PickOne(files, random);
    REPRISE_ASSIGN_OR_RETURN(const std::string content, ReadTarget(source));
    const std::size_t first = random.Below(files.size());
    for (std::size_t i = 0; i < files.size(); ++i) {
      const DamageTarget& target = files[(first + i) % files.size()];
      REPRISE_ASSIGN_OR_RETURN(const std::string before, ReadTarget(target));
      if (before != content) {
        CountFired(fmt::format("put a second copy of {} in the place of {}", source.region.file,
                               target.region.file));
        return Replace(target, content);
      }
    }
    Decline(fmt::format("the aim leaves {} and no other with other bytes", source.region.file));
    return {};
  }
};

}  // namespace

InjectorInfo DamageDuplicateInfo() {
  return {.name = "damage.duplicate",
          .help = "puts a second copy of one file in the place of another",
          .stage = InjectorStage::kFolder,
          .params = AimParams("tensor"),
          .make = MakeDamage<DamageDuplicate>};
}

}  // namespace reprise
