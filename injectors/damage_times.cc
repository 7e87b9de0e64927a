// Reverses the order of the times of modification of all checkpoints.
//
// Models: a restore from a backup, a copy that keeps no times, clocks of several machines. A loader
// that takes the file with the latest time for the newest checkpoint begins from the oldest.

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <system_error>

#include "injectors/damage.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

class DamageTimes final : public Injector {
 public:
  Status OnFolder(const FolderContext& context) override {
    if (context.checkpoints.size() < 2) {
      Decline("the folder holds no two readable checkpoints");
      return {};
    }
    const auto now = fs::file_time_type::clock::now();
    for (std::size_t age = 0; age < context.checkpoints.size(); ++age) {
      const auto oldest_is_latest = std::chrono::hours(context.checkpoints.size() - age);
      REPRISE_RETURN_IF_ERROR(SetTimes(context, age, now - oldest_is_latest));
    }
    CountFired(fmt::format("gave {} earlier times of modification than {}",
                           context.checkpoints.front().checkpoint,
                           context.checkpoints.back().checkpoint));
    return {};
  }

 private:
  // Of the files of one checkpoint, and of the folders that hold them.
  Status SetTimes(const FolderContext& context, std::size_t age, fs::file_time_type time) {
    std::error_code error;
    const fs::path root = fs::canonical(context.folder, error);
    std::set<fs::path> changed;
    for (const LayoutRegion& region : context.checkpoints[age].regions) {
      const auto path = ResolveInside(context.folder, region.file);
      if (!path || !changed.insert(*path).second) {
        continue;
      }
      CountDamaged(region.file);
      fs::last_write_time(*path, time, error);
      if (!error && path->parent_path() != root) {
        fs::last_write_time(path->parent_path(), time, error);
      }
      if (error) {
        return FailErrno(error.value(), "cannot set the time of modification", path->string());
      }
    }
    return {};
  }
};

Result<std::unique_ptr<Injector>> Make(const Params& /*params*/) {
  return std::make_unique<DamageTimes>();
}

}  // namespace

InjectorInfo DamageTimesInfo() {
  return {.name = "damage.times",
          .help = "reverses the order of the checkpoints' times of modification",
          .stage = InjectorStage::kFolder,
          .params = {},
          .make = Make};
}

}  // namespace reprise
