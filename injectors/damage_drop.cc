// Removes one file of a checkpoint.
//
// Models: a shard that was never uploaded, a cleaned scratch disk, a lost object.

#include <filesystem>
#include <system_error>

#include "injectors/damage.h"

namespace reprise {
namespace {

class DamageDrop final : public Injector {
 public:
  explicit DamageDrop(Aim aim) : aim_(std::move(aim)) {}

  Status OnFolder(const FolderContext& context) override {
    const auto files = aim_.Files(context);
    if (files.empty()) {
      return {};
    }
    Random random = aim_.Draw(context);
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

 private:
  Aim aim_;
};

Result<std::unique_ptr<Injector>> Make(const Params& params) {
  REPRISE_ASSIGN_OR_RETURN(Aim aim, Aim::Of(params));
  return std::make_unique<DamageDrop>(std::move(aim));
}

}  // namespace

InjectorInfo DamageDropInfo() {
  return {.name = "damage.drop",
          .help = "removes one file of a checkpoint",
          .stage = InjectorStage::kFolder,
          .params = AimParams("any"),
          .make = Make};
}

}  // namespace reprise
