// Appends bytes to one file of a checkpoint.
//
// Models: a shorter file written over a longer one without truncating it, a doubled last block.

#include <fmt/format.h>

#include "injectors/damage.h"

namespace reprise {
namespace {

class DamageExtend final : public Injector {
 public:
  DamageExtend(Aim aim, std::int64_t byte_count) : aim_(std::move(aim)), byte_count_(byte_count) {}

  Status OnFolder(const FolderContext& context) override {
    const auto files = aim_.Files(context);
    if (files.empty()) {
      return {};
    }
    Random random = aim_.Draw(context);
    const DamageTarget& target = PickOne(files, random);
    std::string bytes(static_cast<std::size_t>(byte_count_), '\0');
    for (char& byte : bytes) {
      byte = static_cast<char>(random.Below(256));
    }
    REPRISE_ASSIGN_OR_RETURN(const UniqueFd fd, OpenPrivate(target.path));
    REPRISE_RETURN_IF_ERROR(WriteAt(fd, target.size_bytes, bytes, target.path));
    CountDamaged(target.region.file);
    CountFired(fmt::format("appended {} bytes to {}", byte_count_, target.ToText()));
    return {};
  }

 private:
  Aim aim_;
  std::int64_t byte_count_;
};

Result<std::unique_ptr<Injector>> Make(const Params& params) {
  REPRISE_ASSIGN_OR_RETURN(Aim aim, Aim::Of(params));
  return std::make_unique<DamageExtend>(std::move(aim), params.Integer("bytes"));
}

}  // namespace

InjectorInfo DamageExtendInfo() {
  return {.name = "damage.extend",
          .help = "appends bytes to one file of a checkpoint",
          .stage = InjectorStage::kFolder,
          .params = AimParams("any", {{.name = "bytes",
                                       .help = "number of random bytes that are appended",
                                       .fallback = "512",
                                       .min = 1,
                                       .max = 1'048'576}}),
          .make = Make};
}

}  // namespace reprise
