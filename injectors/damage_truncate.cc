// Cuts one file of a checkpoint.
//
// Models: a copy or upload that was interrupted, a full disk whose error nobody looked at.

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "injectors/damage.h"

namespace reprise {
namespace {

enum class Keep { kHalf, kAllButOne, kNothing };

class DamageTruncate final : public Injector {
 public:
  DamageTruncate(Aim aim, Keep keep) : aim_(std::move(aim)), keep_(keep) {}

  Status OnFolder(const FolderContext& context) override {
    const auto files = aim_.Files(context);
    if (files.empty()) {
      return {};
    }
    Random random = aim_.Draw(context);
    const DamageTarget& target = PickOne(files, random);
    const std::int64_t kept = KeptOf(target.size_bytes);
    REPRISE_ASSIGN_OR_RETURN(const UniqueFd fd, OpenPrivate(target.path));
    if (ftruncate(fd.Get(), kept) != 0) {
      return FailErrno(errno, "cannot truncate", target.path.string());
    }
    CountDamaged(target.region.file);
    CountFired(
        fmt::format("truncated from {} to {} bytes: {}", target.size_bytes, kept, target.ToText()));
    return {};
  }

 private:
  [[nodiscard]] std::int64_t KeptOf(std::int64_t size_bytes) const {
    switch (keep_) {
      case Keep::kHalf:
        return size_bytes / 2;
      case Keep::kAllButOne:
        return size_bytes - 1;
      case Keep::kNothing:
        break;
    }
    return 0;
  }

  Aim aim_;
  Keep keep_;
};

Result<std::unique_ptr<Injector>> Make(const Params& params) {
  REPRISE_ASSIGN_OR_RETURN(Aim aim, Aim::Of(params));
  const std::string& text = params.Text("keep");
  const Keep keep = text == "half"        ? Keep::kHalf
                    : text == "all-but-1" ? Keep::kAllButOne
                                          : Keep::kNothing;
  return std::make_unique<DamageTruncate>(std::move(aim), keep);
}

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
          .make = Make};
}

}  // namespace reprise
