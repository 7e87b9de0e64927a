#include "harness/process/arrival.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "harness/base/files.h"
#include "harness/process/proc_files.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxEntries = 10'000;
constexpr std::uint64_t kMaxFileBytes = 1ULL << 32U;

class Teller {
 public:
  Teller(const Operation& cause, std::string real_path, bool with_data)
      : cause_(cause), real_path_(std::move(real_path)), with_data_(with_data) {}

  Arrival Tell() {
    const FileFacts facts = FactsOfPath(real_path_, false).value_or(FileFacts{});
    const bool is_link = ReadLink(real_path_).has_value();
    AddReplaced(facts.is_folder, is_link);
    if (facts.is_folder) {
      AddFolder(cause_.second_path, facts.mode);
      AddEntries();
    } else if (is_link) {
      AddLink(real_path_, cause_.second_path);
    } else {
      Operation file = cause_;
      file.length_bytes = facts.size_bytes;
      file.data = Content(real_path_, cause_.second_path);
      arrival_.operations.push_back(std::move(file));
    }
    return std::move(arrival_);
  }

 private:
  Operation& Add(OperationKind kind, std::string path) {
    Operation operation;
    operation.kind = kind;
    operation.address = cause_.address;
    operation.pid = cause_.pid;
    operation.call = cause_.call;
    operation.path = std::move(path);
    return arrival_.operations.emplace_back(std::move(operation));
  }

  // A file replaces by itself what had its name.
  void AddReplaced(bool is_folder, bool is_link) {
    if (cause_.exchanges) {
      Add(OperationKind::kRename, cause_.second_path).second_path = cause_.path;
    } else if (!cause_.creates && is_folder) {
      Add(OperationKind::kRemoveFolder, cause_.second_path);
    } else if (!cause_.creates && is_link) {
      Add(OperationKind::kUnlink, cause_.second_path);
    }
  }

  void AddFolder(const std::string& path, unsigned mode) {
    Add(OperationKind::kMakeFolder, path).mode = mode;
  }

  void AddLink(const std::string& real, const std::string& path) {
    Add(OperationKind::kSymlink, ReadLink(real).value_or("")).second_path = path;
  }

  void AddFile(const std::string& real, const std::string& path, const FileFacts& facts) {
    const auto [first, is_new] = names_.try_emplace(facts.key, path);
    if (!is_new) {
      Add(OperationKind::kLink, first->second).second_path = path;
      return;
    }
    Operation& create = Add(OperationKind::kOpen, path);
    create.creates = true;
    create.mode = facts.mode;
    create.device = facts.key.device;
    create.inode = facts.key.inode;
    Operation& write = Add(OperationKind::kWrite, path);
    write.device = facts.key.device;
    write.inode = facts.key.inode;
    write.length_bytes = facts.size_bytes;
    write.result = facts.size_bytes;
    write.data = Content(real, path);
  }

  void AddEntries() {
    std::vector<fs::path> entries;
    std::error_code error;
    for (fs::recursive_directory_iterator at(real_path_, error), end;
         !error && at != end && entries.size() <= kMaxEntries; at.increment(error)) {
      entries.push_back(at->path());
    }
    if (error || entries.size() > kMaxEntries) {
      arrival_.left_out.push_back(
          error ? fmt::format("{}: {}", cause_.second_path, error.message())
                : fmt::format("{}: more than {} entries", cause_.second_path, kMaxEntries));
    }
    std::sort(entries.begin(), entries.end());  // folders come before what is in them
    for (const fs::path& entry : entries) {
      AddEntry(entry.string());
    }
  }

  void AddEntry(const std::string& real) {
    const std::string path = cause_.second_path + real.substr(real_path_.size());
    const FileFacts facts = FactsOfPath(real, false).value_or(FileFacts{});
    if (facts.is_folder) {
      AddFolder(path, facts.mode);
    } else if (facts.is_regular) {
      AddFile(real, path, facts);
    } else if (ReadLink(real)) {
      AddLink(real, path);
    } else {
      arrival_.left_out.push_back(path + ": neither file nor folder nor symbolic link");
    }
  }

  std::string Content(const std::string& real, const std::string& path) {
    if (!with_data_) {
      return {};
    }
    auto content = ReadFile(real, kMaxFileBytes);
    if (!content) {
      arrival_.left_out.push_back(path + ": " + content.error().ToString());
      return {};
    }
    return std::move(*content);
  }

  const Operation& cause_;
  const std::string real_path_;
  const bool with_data_;
  std::map<FileKey, std::string> names_;  // hard links among the entries
  Arrival arrival_;
};

}  // namespace

bool BringsIn(const Operation& operation) {
  const bool moves =
      operation.kind == OperationKind::kRename || operation.kind == OperationKind::kLink;
  return moves && !operation.second_path.empty() && !operation.second_path.starts_with('/') &&
         (operation.path.empty() || operation.path.starts_with('/'));
}

Arrival TellArrival(const Operation& operation, const std::string& real_path, bool with_data) {
  return Teller(operation, real_path, with_data).Tell();
}

}  // namespace reprise
