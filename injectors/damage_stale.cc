// Replaces one file of a checkpoint, or all of them, by those of the checkpoint before it.
//
// Models: an upload that silently kept an old object, a writer that skipped one rank, a shared path
// that is overwritten in place; with all files, a checkpoint that was copied under a newer name.
// Each file is sound by itself; only together, or with their name, they are wrong.

#include <fmt/format.h>

#include "injectors/damage.h"

namespace reprise {
namespace {

class DamageStale final : public Damage {
 public:
  DamageStale(Aim aim, const Params& params)
      : Damage(std::move(aim), Hits::kFiles), all_(params.Text("files") == "all") {}

 private:
  Status Do(const DamageTargets& files, const FolderContext& context, Random& random) override {
    const DamageTargets older = GetAim().Older().Files(context);
    if (older.empty()) {
      Decline(GetAim().Older().WhyNothing(context));
      return {};
    }
    const std::size_t first = random.Below(files.size());
    for (std::size_t i = 0; i < files.size() && (all_ || Firings().empty()); ++i) {
      const std::size_t index = (first + i) % files.size();
      const DamageTarget* source = Counterpart(files, index, older, files[index].region.rank);
      if (source != nullptr && source->path != files[index].path) {
        REPRISE_RETURN_IF_ERROR(TakeFrom(*source, files[index]));
      }
    }
    if (Firings().empty()) {
      Decline("the checkpoint before has no such file with other bytes");
    }
    return {};
  }

  // Does nothing where both hold the same bytes: that would be a fault without effect.
  Status TakeFrom(const DamageTarget& source, const DamageTarget& target) {
    REPRISE_ASSIGN_OR_RETURN(const std::string before, ReadTarget(target));
    REPRISE_ASSIGN_OR_RETURN(const std::string stale, ReadTarget(source));
    if (before == stale) {
      return {};
    }
    CountFired(fmt::format("replaced {} by {} of {}", target.region.file, source.region.file,
                           source.checkpoint));
    return Replace(target, stale);
  }

  bool all_;
};

Result<std::unique_ptr<Injector>> Make(const Params& params) {
  if (params.Text("region") == "pointer") {
    return Fail(ErrorCode::kInvalidInput,
                "the pointer belongs to no single checkpoint; damage.pointer sets it back",
                "region");
  }
  return MakeDamage<DamageStale>(params);
}

}  // namespace

InjectorInfo DamageStaleInfo() {
  return {.name = "damage.stale",
          .help = "replaces files of a checkpoint by the same files of the one before",
          .stage = InjectorStage::kFolder,
          .params = AimParams("tensor", {{.name = "files",
                                          .help = "one drawn file, or all that the aim allows",
                                          .type = ParamType::kEnum,
                                          .fallback = "one",
                                          .choices = {"one", "all"}}}),
          .make = Make};
}

}  // namespace reprise
