// Writing that a crash cannot tear: plain open, write, fsync and rename, in an order that is the
// same in every run, so that an operation log of one save is comparable with that of the next.
//
// Sources: fsync(2) ("Calling fsync() does not necessarily ensure that the entry in the directory
// containing the file has also reached disk"), rename(2). Errors are kSystem and name the path.

#ifndef REPRISE_FORMATS_DURABLE_FILES_H_
#define REPRISE_FORMATS_DURABLE_FILES_H_

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"

namespace reprise {

// Creates or empties the file, writes the pieces one after the other and syncs it. Small pieces
// share a write(2), a large one has its own.
Status WriteDurably(const std::filesystem::path& path, std::span<const std::string_view> pieces);

Status SyncFolder(const std::filesystem::path& folder);

// One mkdir(2); a folder that exists already is no error.
Status MakeFolder(const std::filesystem::path& folder);

Status Rename(const std::filesystem::path& from, const std::filesystem::path& to);

// Swaps two existing names in one step (RENAME_EXCHANGE).
Status Exchange(const std::filesystem::path& a, const std::filesystem::path& b);

// A missing file is no error.
Status Unlink(const std::filesystem::path& path);

// Names in a folder, sorted; an absent folder is empty.
Result<std::vector<std::string>> SortedNames(const std::filesystem::path& folder);

// Removes a folder and what is in it, in the order of the names. An absent one is no error.
Status RemoveFolder(const std::filesystem::path& folder);

// `lines` and a last line with their checksum: a small file whose every byte is protected.
std::string Seal(std::string_view lines);

// The lines of a sealed text. kCorrupt with `where` unless all of it is as Seal() made it.
Result<std::string> Unseal(std::string_view text, const std::string& where);

}  // namespace reprise

#endif  // REPRISE_FORMATS_DURABLE_FILES_H_
