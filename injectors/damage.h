// What the damages have in common: an aim, resolved through layouts alone, and changes of files
// that stay inside the checkpoint folder.
//
// Nothing here knows a file name of any format. A symbolic link that leaves the folder is not
// followed, and a file with further hard links is made private first, so that nothing outside of
// the folder changes.

#ifndef REPRISE_INJECTORS_DAMAGE_H_
#define REPRISE_INJECTORS_DAMAGE_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
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

// Which part of which checkpoint.
class Aim {
 public:
  // REQUIRES: the parameters of AimParams().
  static Result<Aim> Of(const Params& params);

  // Existing, non-empty regions that the aim allows, in the order of the layout.
  [[nodiscard]] std::vector<DamageTarget> Regions(const FolderContext& context) const;

  // The same, one region (the first) per file.
  [[nodiscard]] std::vector<DamageTarget> Files(const FolderContext& context) const;

  // 0: newest, 1: the one before.
  [[nodiscard]] std::size_t Age() const { return age_; }

  // The same aim at a checkpoint that is older by one.
  [[nodiscard]] Aim Older() const;

  // The generator for the draws of this fault.
  [[nodiscard]] Random Draw(const FolderContext& context) const;

 private:
  [[nodiscard]] bool Allows(const LayoutRegion& region) const;

  std::size_t age_ = 0;
  std::optional<RegionKind> kind_;
  std::string tensor_;  // empty: any
  int rank_ = -1;
  std::int64_t draw_ = 0;
};

// checkpoint, region, tensor, rank, draw, followed by `more`.
std::vector<ParamSpec> AimParams(std::string default_region, std::vector<ParamSpec> more = {});

// REQUIRES: not empty.
const DamageTarget& PickOne(const std::vector<DamageTarget>& targets, Random& random);

// The real path of `file` below `folder`; nothing when it does not exist, is no regular file, or
// lies outside (by "..", or by a symbolic link).
std::optional<std::filesystem::path> ResolveInside(const std::filesystem::path& folder,
                                                   const std::string& file);

// Opened for reading and writing, with no other name outside of our sight. kSystem.
Result<UniqueFd> OpenPrivate(const std::filesystem::path& path);

Status WriteAt(const UniqueFd& fd, std::int64_t offset_bytes, std::string_view bytes,
               const std::filesystem::path& path);

}  // namespace reprise

#endif  // REPRISE_INJECTORS_DAMAGE_H_
