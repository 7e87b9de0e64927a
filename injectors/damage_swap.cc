// Exchanges the content of two shards of one checkpoint.
//
// Models: misdirected writes, an upload under another rank's name, a launcher that renumbers ranks.

#include <fmt/format.h>

#include "harness/base/files.h"
#include "injectors/damage.h"

namespace reprise {
namespace {

constexpr std::uint64_t kMaxShardBytes = std::uint64_t{4} << 30;

class DamageSwap final : public Injector {
 public:
  explicit DamageSwap(Aim aim) : aim_(std::move(aim)) {}

  Status OnFolder(const FolderContext& context) override {
    const auto files = aim_.Files(context);
    if (files.empty()) {
      return {};
    }
    Random random = aim_.Draw(context);
    const std::size_t first = random.Below(files.size());
    const std::size_t second = random.Below(files.size());
    for (std::size_t i = 0; i < files.size() && Firings().empty(); ++i) {
      const DamageTarget& other = files[(second + i) % files.size()];
      if (other.path != files[first].path) {
        REPRISE_RETURN_IF_ERROR(Swap(files[first], other));
      }
    }
    return {};
  }

 private:
  // Does nothing where both hold the same bytes: that would be a fault without effect.
  Status Swap(const DamageTarget& a, const DamageTarget& b) {
    REPRISE_ASSIGN_OR_RETURN(const std::string of_a, ReadFile(a.path, kMaxShardBytes));
    REPRISE_ASSIGN_OR_RETURN(const std::string of_b, ReadFile(b.path, kMaxShardBytes));
    if (of_a == of_b) {
      return {};
    }
    REPRISE_RETURN_IF_ERROR(WriteFileAtomically(a.path, of_b));
    REPRISE_RETURN_IF_ERROR(WriteFileAtomically(b.path, of_a));
    CountDamaged(a.region.file);
    CountDamaged(b.region.file);
    CountFired(fmt::format("exchanged {} and {}", a.region.file, b.region.file));
    return {};
  }

  Aim aim_;
};

Result<std::unique_ptr<Injector>> Make(const Params& params) {
  REPRISE_ASSIGN_OR_RETURN(Aim aim, Aim::Of(params));
  return std::make_unique<DamageSwap>(std::move(aim));
}

}  // namespace

InjectorInfo DamageSwapInfo() {
  return {.name = "damage.swap",
          .help = "exchanges the content of two files of a checkpoint",
          .stage = InjectorStage::kFolder,
          .params = AimParams("tensor"),
          .make = Make};
}

}  // namespace reprise
