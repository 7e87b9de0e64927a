// Opens and reads one published sharded-safetensors checkpoint. See sharded_safetensors.cc.

#ifndef REPRISE_FORMATS_SHARDED_SAFETENSORS_READER_H_
#define REPRISE_FORMATS_SHARDED_SAFETENSORS_READER_H_

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "formats/checkpoint_format.h"
#include "harness/base/result.h"

namespace reprise {

inline constexpr const char* kIndexFile = "index.json";
inline constexpr const char* kCommitFile = "COMMIT";

// Content of COMMIT for an index.json with the text `index`.
std::string CommitText(std::int64_t step, std::string_view index);

// Reads and checks COMMIT, index.json, and size and header of every shard. `folder` holds all
// checkpoints; `name` is that of the checkpoint, for `step`.
Result<std::unique_ptr<CheckpointReader>> OpenShardedSafetensors(
    const std::filesystem::path& folder, const CheckpointRef& checkpoint);

// The files that the index of a checkpoint demands, relative to `folder`; they need not exist.
Result<std::vector<std::string>> FilesOfShardedSafetensors(const std::filesystem::path& folder,
                                                           const CheckpointRef& checkpoint);

}  // namespace reprise

#endif  // REPRISE_FORMATS_SHARDED_SAFETENSORS_READER_H_
