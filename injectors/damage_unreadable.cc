// Makes one file of a checkpoint exist and be unreadable.
//
// Models: a link into a cache that was cleaned, a sync tool that made a folder of a name, a file
// that another user wrote. Permissions do not bind root: taking them away then does nothing, and
// the fault says so instead of firing; the other two forms bind everybody.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "injectors/damage.h"

namespace reprise {
namespace {

class DamageUnreadable final : public Damage {
 public:
  DamageUnreadable(Aim aim, const Params& params)
      : Damage(std::move(aim), Hits::kFiles), how_(params.Text("how")) {}

 private:
  Status Do(const DamageTargets& files, const FolderContext& /*context*/, Random& random) override {
    const DamageTarget& target = PickOne(files, random);
    return how_ == "mode" ? TakePermission(target) : PutInPlaceOf(target);
  }

  Status TakePermission(const DamageTarget& target) {
    const char* path = target.path.c_str();
    struct stat before = {};
    if (stat(path, &before) != 0 || chmod(path, 0) != 0) {
      return FailErrno(errno, "cannot change the permissions", target.path.string());
    }
    if (const UniqueFd fd(open(path, O_RDONLY | O_CLOEXEC)); fd.IsValid()) {
      Decline("permissions do not bind this user (root?); how=link and how=folder bind everybody");
      return chmod(path, before.st_mode & 07777) == 0
                 ? Status()
                 : FailErrno(errno, "cannot restore the permissions", target.path.string());
    }
    CountDamaged(target.region.file);
    CountFired("took all permissions of " + target.ToText());
    return {};
  }

  Status PutInPlaceOf(const DamageTarget& target) {
    const char* path = target.path.c_str();
    const bool is_link = how_ == "link";
    const std::string gone = target.path.filename().string() + ".gone";
    if (unlink(path) != 0 || (is_link ? symlink(gone.c_str(), path) : mkdir(path, 0755)) != 0) {
      return FailErrno(errno, "cannot replace", target.path.string());
    }
    CountDamaged(target.region.file);
    CountFired((is_link ? "put a link to nothing in the place of "
                        : "put an empty folder in the place of ") +
               target.ToText());
    return {};
  }

  std::string how_;
};

}  // namespace

InjectorInfo DamageUnreadableInfo() {
  return {.name = "damage.unreadable",
          .help = "makes one file of a checkpoint exist and be unreadable",
          .stage = InjectorStage::kFolder,
          .params = AimParams("any", {{.name = "how",
                                       .help = "a link to nothing, an empty folder, or a file "
                                               "without permissions (not for root)",
                                       .type = ParamType::kEnum,
                                       .fallback = "link",
                                       .choices = {"link", "folder", "mode"}}}),
          .make = MakeDamage<DamageUnreadable>};
}

}  // namespace reprise
