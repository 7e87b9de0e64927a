// Replaces one file of a checkpoint by the same file of the checkpoint before it.
//
// Models: an upload that silently kept an old object, a writer that skipped one rank, a shared path
// that is overwritten in place. Each file is sound by itself; only together they are wrong.

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "harness/base/files.h"
#include "injectors/damage.h"

namespace reprise {
namespace {

constexpr std::uint64_t kMaxShardBytes = std::uint64_t{4} << 30;

using Targets = std::vector<DamageTarget>;

// "The same file" of another checkpoint, without knowledge of names: the one that stands at the
// same place among the files of that rank and kind of region.
const DamageTarget* Counterpart(const Targets& files, std::size_t index, const Targets& others) {
  const auto same = [&](const DamageTarget& target) {
    return target.region.rank == files[index].region.rank &&
           target.region.kind == files[index].region.kind;
  };
  const auto end = files.begin() + static_cast<std::ptrdiff_t>(index);
  auto before = std::count_if(files.begin(), end, same);
  for (const DamageTarget& other : others) {
    if (same(other) && before-- == 0) {
      return &other;
    }
  }
  return nullptr;
}

class DamageStale final : public Injector {
 public:
  explicit DamageStale(Aim aim) : aim_(std::move(aim)) {}

  Status OnFolder(const FolderContext& context) override {
    const Targets files = aim_.Files(context);
    const Targets older = aim_.Older().Files(context);
    if (files.empty()) {
      return {};
    }
    Random random = aim_.Draw(context);
    const std::size_t first = random.Below(files.size());
    for (std::size_t i = 0; i < files.size() && Firings().empty(); ++i) {
      const std::size_t index = (first + i) % files.size();
      const DamageTarget* source = Counterpart(files, index, older);
      if (source != nullptr && source->path != files[index].path) {
        REPRISE_RETURN_IF_ERROR(Replace(files[index], *source));
      }
    }
    return {};
  }

 private:
  // Does nothing where both hold the same bytes: that would be a fault without effect.
  Status Replace(const DamageTarget& target, const DamageTarget& source) {
    REPRISE_ASSIGN_OR_RETURN(const std::string before, ReadFile(target.path, kMaxShardBytes));
    REPRISE_ASSIGN_OR_RETURN(const std::string stale, ReadFile(source.path, kMaxShardBytes));
    if (before == stale) {
      return {};
    }
    REPRISE_RETURN_IF_ERROR(WriteFileAtomically(target.path, stale));
    CountDamaged(target.region.file);
    CountFired(fmt::format("replaced {} by {} of {}", target.region.file, source.region.file,
                           source.checkpoint));
    return {};
  }

  Aim aim_;
};

Result<std::unique_ptr<Injector>> Make(const Params& params) {
  if (params.Text("region") == "pointer") {
    return Fail(ErrorCode::kInvalidInput,
                "the pointer belongs to no single checkpoint; expected another region", "region");
  }
  REPRISE_ASSIGN_OR_RETURN(Aim aim, Aim::Of(params));
  return std::make_unique<DamageStale>(std::move(aim));
}

}  // namespace

InjectorInfo DamageStaleInfo() {
  return {.name = "damage.stale",
          .help = "replaces one file of a checkpoint by the same file of the one before",
          .stage = InjectorStage::kFolder,
          .params = AimParams("tensor"),
          .make = Make};
}

}  // namespace reprise
