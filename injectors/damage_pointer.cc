// Points the pointer to the newest checkpoint at another one, or at none.
//
// Models: a pointer that was uploaded before its checkpoint, or that an eventually consistent store
// still shows as it was. The pointer is sound by itself, checksum and all.

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "harness/base/files.h"
#include "injectors/damage.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

// A name like that of the newest checkpoint which nothing in the folder has.
std::string UnusedName(const FolderContext& context) {
  for (char last = '0'; last <= '9'; ++last) {
    std::string name = context.checkpoints.front().checkpoint;
    name.back() = last;
    std::error_code error;
    if (!fs::exists(fs::symlink_status(context.folder / name, error))) {
      return name;
    }
  }
  return context.checkpoints.front().checkpoint + "0";
}

class DamagePointer final : public Injector {
 public:
  explicit DamagePointer(bool to_older) : to_older_(to_older) {}

  Status OnFolder(const FolderContext& context) override {
    const LayoutRegion* pointer = nullptr;
    for (const LayoutRegion& region : context.folder_layout.regions) {
      pointer = region.kind == RegionKind::kPointer ? &region : pointer;
    }
    const auto path =
        pointer == nullptr ? std::nullopt : ResolveInside(context.folder, pointer->file);
    if (!path || !context.pointer_to) {
      Decline("the folder holds no pointer");
      return {};
    }
    if (context.checkpoints.size() < (to_older_ ? 2U : 1U)) {
      Decline(to_older_ ? "the folder holds no second readable checkpoint"
                        : "the folder holds no readable checkpoint");
      return {};
    }
    const std::string name = to_older_ ? context.checkpoints[1].checkpoint : UnusedName(context);
    REPRISE_RETURN_IF_ERROR(WriteFileAtomically(*path, context.pointer_to(name)));
    CountDamaged(pointer->file);
    CountFired(fmt::format("pointed {} at {}, which {}", pointer->file, name,
                           to_older_ ? "is not the newest" : "does not exist"));
    return {};
  }

 private:
  bool to_older_;
};

Result<std::unique_ptr<Injector>> Make(const Params& params) {
  return std::make_unique<DamagePointer>(params.Text("to") == "older");
}

}  // namespace

InjectorInfo DamagePointerInfo() {
  return {.name = "damage.pointer",
          .help = "points the pointer to the newest checkpoint elsewhere",
          .stage = InjectorStage::kFolder,
          .params = {{.name = "to",
                      .help = "a checkpoint that does not exist, or the one before the newest",
                      .type = ParamType::kEnum,
                      .fallback = "nothing",
                      .choices = {"nothing", "older"}}},
          .make = Make};
}

}  // namespace reprise
