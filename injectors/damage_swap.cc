// Exchanges the content of two shards of one checkpoint, or of all shards of two ranks.
//
// Models: an upload under another rank's name, a launcher that renumbers ranks.

#include <fmt/format.h>

#include <set>

#include "injectors/damage.h"

namespace reprise {
namespace {

class DamageSwap final : public Damage {
 public:
  DamageSwap(Aim aim, const Params& params)
      : Damage(std::move(aim), Hits::kFiles), of_ranks_(params.Text("of") == "ranks") {}

 private:
  Status Do(const DamageTargets& files, const FolderContext& /*context*/, Random& random) override {
    if (of_ranks_) {
      REPRISE_RETURN_IF_ERROR(SwapRanks(files, random));
    } else {
      REPRISE_RETURN_IF_ERROR(SwapFiles(files, random));
    }
    if (Firings().empty()) {
      Decline(fmt::format("the aim leaves {} {} and no other with other bytes",
                          files.front().region.file, of_ranks_ ? "of one rank" : ""));
    }
    return {};
  }

  Status SwapFiles(const DamageTargets& files, Random& random) {
    const std::size_t first = random.Below(files.size());
    const std::size_t second = random.Below(files.size());
    for (std::size_t i = 0; i < files.size() && Firings().empty(); ++i) {
      REPRISE_RETURN_IF_ERROR(Swap(files[first], files[(second + i) % files.size()]));
    }
    return {};
  }

  Status SwapRanks(const DamageTargets& files, Random& random) {
    std::set<int> ranks;
    for (const DamageTarget& file : files) {
      if (file.region.rank >= 0) {
        ranks.insert(file.region.rank);
      }
    }
    if (ranks.size() < 2) {
      return {};
    }
    const auto drawn = static_cast<std::ptrdiff_t>(random.Below(ranks.size()));
    const auto one = std::next(ranks.begin(), drawn);
    const auto other = std::next(one) == ranks.end() ? ranks.begin() : std::next(one);
    for (std::size_t i = 0; i < files.size(); ++i) {
      const DamageTarget* counterpart =
          files[i].region.rank == *one ? Counterpart(files, i, files, *other) : nullptr;
      if (counterpart != nullptr) {
        REPRISE_RETURN_IF_ERROR(Swap(files[i], *counterpart));
      }
    }
    return {};
  }

  // Does nothing where both hold the same bytes: that would be a fault without effect.
  Status Swap(const DamageTarget& a, const DamageTarget& b) {
    REPRISE_ASSIGN_OR_RETURN(const std::string of_a, ReadTarget(a));
    REPRISE_ASSIGN_OR_RETURN(const std::string of_b, ReadTarget(b));
    if (of_a == of_b) {
      return {};
    }
    CountFired(fmt::format("exchanged {} and {}", a.region.file, b.region.file));
    REPRISE_RETURN_IF_ERROR(Replace(a, of_b));
    return Replace(b, of_a);
  }

  bool of_ranks_;
};

}  // namespace

InjectorInfo DamageSwapInfo() {
  return {.name = "damage.swap",
          .help = "exchanges the content of files of one checkpoint",
          .stage = InjectorStage::kFolder,
          .params = AimParams("tensor", {{.name = "of",
                                          .help = "two drawn files, or all files of two ranks",
                                          .type = ParamType::kEnum,
                                          .fallback = "files",
                                          .choices = {"files", "ranks"}}}),
          .make = MakeDamage<DamageSwap>};
}

}  // namespace reprise
