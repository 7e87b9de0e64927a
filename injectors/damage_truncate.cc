// Cuts one file of a checkpoint, also to nothing.
//
// Models: a copy or upload that was interrupted, a full disk whose error nobody looked at; empty
// files are what a power loss leaves of a file that was renamed before it was synced.

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "injectors/damage.h"

namespace reprise {
namespace {

class DamageTruncate final : public Damage {
 public:
  DamageTruncate(Aim aim, const Params& params)
      : Damage(std::move(aim), Hits::kFiles), keep_(params.Text("keep")) {}

 private:
  Status Do(const DamageTargets& files, const FolderContext& /*context*/, Random& random) override {
    const DamageTarget& target = PickOne(files, random);
    const std::int64_t kept = keep_ == "half"        ? target.size_bytes / 2
                              : keep_ == "all-but-1" ? target.size_bytes - 1
                                                     : 0;
    REPRISE_ASSIGN_OR_RETURN(const UniqueFd fd, OpenPrivate(target.path));
    if (ftruncate(fd.Get(), kept) != 0) {
      return FailErrno(errno, "cannot truncate", target.path.string());
    }
    CountDamaged(target.region.file);
    CountFired(
        fmt::format("truncated from {} to {} bytes: {}", target.size_bytes, kept, target.ToText()));
    return {};
  }

  std::string keep_;
};

}  // namespace

InjectorInfo DamageTruncateInfo() {
  return {.name = "damage.truncate",
          .help = "cuts one file of a checkpoint",
          .stage = InjectorStage::kFolder,
          .params = AimParams("any", {{.name = "keep",
                                       .help = "how much of the file stays; 0: it is empty",
                                       .type = ParamType::kEnum,
                                       .fallback = "half",
                                       .choices = {"half", "all-but-1", "0"}}}),
          .make = MakeDamage<DamageTruncate>};
}

}  // namespace reprise
