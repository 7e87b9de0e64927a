// What the damages have in common: an aim, resolved through layouts alone, changes of files that
// stay inside the checkpoint folder, and the reason where nothing could be hit.
//
// Nothing here knows a file name of any format. A symbolic link that leaves the folder is not
// followed, and a file with further hard links is made private first, so that nothing outside of
// the folder changes.

#ifndef REPRISE_INJECTORS_DAMAGE_H_
#define REPRISE_INJECTORS_DAMAGE_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/unique_fd.h"
#include "injectors/injector.h"

namespace reprise {

// A file of the checkpoint folder, and the part of it that is meant.
struct DamageTarget {
  LayoutRegion region;
  std::string checkpoint;
  std::filesystem::path path;  // real, inside the folder
  std::int64_t size_bytes = 0;

  // "step-00000020/…, tensor exp_avg/… (rank 1)"
  [[nodiscard]] std::string ToText() const;
};

using DamageTargets = std::vector<DamageTarget>;

// Which part of which checkpoint.
class Aim {
 public:
  // REQUIRES: the parameters of AimParams().
  static Result<Aim> Of(const Params& params);

  // Existing, non-empty regions that the aim allows, in the order of the layout.
  [[nodiscard]] DamageTargets Regions(const FolderContext& context) const;

  // The same, one region (the first) per file.
  [[nodiscard]] DamageTargets Files(const FolderContext& context) const;

  // Why Regions() is empty: what the folder lacks.
  [[nodiscard]] std::string WhyNothing(const FolderContext& context) const;

  // The same aim at a checkpoint that is older by one.
  [[nodiscard]] Aim Older() const;

  // The generator for the draws of this fault.
  [[nodiscard]] Random Draw(const FolderContext& context) const;

 private:
  [[nodiscard]] const Layout* LayoutOf(const FolderContext& context) const;
  [[nodiscard]] bool Allows(const LayoutRegion& region) const;

  std::size_t age_ = 0;
  std::optional<RegionKind> kind_;
  std::string tensor_;  // empty: any
  int rank_ = -1;
  std::int64_t draw_ = 0;
};

// checkpoint, region, tensor, rank, draw, followed by `more`.
std::vector<ParamSpec> AimParams(std::string default_region, std::vector<ParamSpec> more = {});

// One fault with an aim: resolves it, and says why nothing was hit where that is so.
class Damage : public Injector {
 public:
  Status OnFolder(const FolderContext& context) final;

 protected:
  enum class Hits { kRegions, kFiles };  // whether one file may be several targets

  Damage(Aim aim, Hits hits) : aim_(std::move(aim)), hits_(hits) {}

  // Damages one or more of `targets` and counts it, or declines. `targets` is not empty.
  virtual Status Do(const DamageTargets& targets, const FolderContext& context, Random& random) = 0;

  // Writes `bytes` into the file of the target, whose end they may move, and counts it.
  Status Overwrite(const DamageTarget& target, std::int64_t offset_bytes, std::string_view bytes,
                   std::string what);

  // Gives the file of the target another content; the caller counts the firing.
  Status Replace(const DamageTarget& target, std::string_view content);

  [[nodiscard]] const Aim& GetAim() const { return aim_; }

 private:
  Aim aim_;
  Hits hits_;
};

// InjectorInfo::make of a Damage with the constructor T(Aim, const Params&).
template <class T>
Result<std::unique_ptr<Injector>> MakeDamage(const Params& params) {
  REPRISE_ASSIGN_OR_RETURN(Aim aim, Aim::Of(params));
  return std::make_unique<T>(std::move(aim), params);
}

// REQUIRES: not empty.
const DamageTarget& PickOne(const DamageTargets& targets, Random& random);

// Among `others`, the file that corresponds to files[index] and was written by `rank`, without
// knowledge of names: the one at the same place among the files of one rank and kind of region.
// Null when there is none.
const DamageTarget* Counterpart(const DamageTargets& files, std::size_t index,
                                const DamageTargets& others, int rank);

// The whole content of a target's file.
Result<std::string> ReadTarget(const DamageTarget& target);

// The bytes [offset_bytes, offset_bytes + length_bytes) of a target's file.
Result<std::string> ReadTarget(const DamageTarget& target, std::int64_t offset_bytes,
                               std::int64_t length_bytes);

// The real path of `file` below `folder`; nothing when it does not exist, is no regular file, or
// lies outside (by "..", or by a symbolic link).
std::optional<std::filesystem::path> ResolveInside(const std::filesystem::path& folder,
                                                   const std::string& file);

// Opened for reading and writing, with no other name outside of our sight. kSystem.
Result<UniqueFd> OpenPrivate(const std::filesystem::path& path);

}  // namespace reprise

#endif  // REPRISE_INJECTORS_DAMAGE_H_
