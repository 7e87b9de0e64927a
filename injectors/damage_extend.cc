// Appends bytes to one file of a checkpoint.
//
// Models: a shorter file written over a longer one without truncating it, a doubled last block.

#include <fmt/format.h>

#include "injectors/damage.h"

namespace reprise {
namespace {

class DamageExtend final : public Damage {
 public:
  DamageExtend(Aim aim, const Params& params)
      : Damage(std::move(aim), Hits::kFiles), byte_count_(params.Integer("bytes")) {}

 private:
  Status Do(const DamageTargets& files, const FolderContext& /*context*/, Random& random) override {
    const DamageTarget& target = PickOne(files, random);
    std::string bytes(static_cast<std::size_t>(byte_count_), '\0');
    for (char& byte : bytes) {
      byte = static_cast<char>(random.Below(256));
    }
    return Overwrite(target, target.size_bytes, bytes,
                     fmt::format("appended {} bytes to {}", byte_count_, target.ToText()));
  }

  std::int64_t byte_count_;
};

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
          .make = MakeDamage<DamageExtend>};
}

}  // namespace reprise
