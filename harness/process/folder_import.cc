#include "harness/process/folder_import.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "harness/base/files.h"
#include "harness/process/proc_files.h"

namespace reprise {
namespace {

constexpr std::size_t kMaxEntries = 10'000;
constexpr std::uint64_t kMaxFileBytes = 1ULL << 32U;

Operation Blank(const Operation& rename, OperationKind kind, std::string path) {
  Operation operation;
  operation.kind = kind;
  operation.address = rename.address;
  operation.pid = rename.pid;
  operation.call = rename.call;
  operation.path = std::move(path);
  return operation;
}

void AddFile(const Operation& rename, const std::filesystem::path& real, std::string path,
             std::vector<Operation>& operations) {
  const FileFacts facts = FactsOfPath(real.string(), false).value_or(FileFacts{});
  Operation create = Blank(rename, OperationKind::kOpen, path);
  create.creates = true;
  create.mode = facts.mode;
  create.device = facts.key.device;
  create.inode = facts.key.inode;
  Operation write = Blank(rename, OperationKind::kWrite, std::move(path));
  write.device = facts.key.device;
  write.inode = facts.key.inode;
  if (auto content = ReadFile(real, kMaxFileBytes)) {
    write.data = std::move(*content);
  }
  write.length_bytes = static_cast<std::int64_t>(write.data.size());
  write.result = write.length_bytes;
  operations.push_back(std::move(create));
  operations.push_back(std::move(write));
}

}  // namespace

std::vector<Operation> ImportFolder(const Operation& rename, const std::string& real_path) {
  namespace fs = std::filesystem;
  std::vector<Operation> operations = {
      Blank(rename, OperationKind::kMakeFolder, rename.second_path)};
  operations.front().mode = FactsOfPath(real_path, false).value_or(FileFacts{}).mode;
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::recursive_directory_iterator at(real_path, error), end;
       !error && at != end && entries.size() < kMaxEntries; at.increment(error)) {
    entries.push_back(at->path());
  }
  std::sort(entries.begin(), entries.end());  // folders come before what is in them
  for (const fs::path& entry : entries) {
    const std::string path = rename.second_path + entry.string().substr(real_path.size());
    if (fs::is_symlink(entry, error)) {
      operations.push_back(Blank(rename, OperationKind::kSymlink, fs::read_symlink(entry, error)));
      operations.back().second_path = path;
    } else if (fs::is_directory(entry, error)) {
      operations.push_back(Blank(rename, OperationKind::kMakeFolder, path));
    } else if (fs::is_regular_file(entry, error)) {
      AddFile(rename, entry, path, operations);
    }
  }
  return operations;
}

}  // namespace reprise
