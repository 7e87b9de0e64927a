// Whole-file operations with bounds, and the tree operations that a run directory needs.
//
// Every read is bounded: what we read may be torn, hostile or huge. Errors name the path.

#ifndef REPRISE_HARNESS_BASE_FILES_H_
#define REPRISE_HARNESS_BASE_FILES_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "harness/base/result.h"
#include "harness/base/unique_fd.h"

namespace reprise {

struct RegularFile {
  UniqueFd fd;  // for reading
  std::uint64_t size_bytes = 0;
};

// kNotFound; kCorrupt when it is no regular file (a FIFO does not block us); kSystem.
Result<RegularFile> OpenRegularFile(const std::filesystem::path& path);

// Whole content of a regular file. Fails with kNotFound, kCorrupt (larger than `max_bytes`, or not
// a regular file) or kSystem.
Result<std::string> ReadFile(const std::filesystem::path& path, std::uint64_t max_bytes);

// `length` bytes from `offset_bytes`; kCorrupt when the file is shorter.
Result<std::string> ReadFileRange(const std::filesystem::path& path, std::uint64_t offset_bytes,
                                  std::uint64_t length_bytes);

// Old or new content, never a part: a temporary file beside it, then rename. Not synced to the
// disk.
Status WriteFileAtomically(const std::filesystem::path& path, std::string_view content);

// Appends with a single write(2); creates the file.
Status AppendToFile(const std::filesystem::path& path, std::string_view content);

Status MakeFolders(const std::filesystem::path& path);

// Copies a tree of folders, regular files and symbolic links; `to` must not exist.
Status CopyTree(const std::filesystem::path& from, const std::filesystem::path& to);

// Removes a tree; a tree that does not exist is no error. Entries without permission are made
// removable first.
Status RemoveTree(const std::filesystem::path& path);

}  // namespace reprise

#endif  // REPRISE_HARNESS_BASE_FILES_H_
