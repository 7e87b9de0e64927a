#include "formats/durable_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "harness/base/content_id.h"
#include "harness/base/files.h"
#include "harness/base/unique_fd.h"

namespace reprise {
namespace {

// Small tensors share a write; a large one is written from where it lies.
constexpr std::size_t kWriteBufferBytes = std::size_t{32} << 10;

namespace fs = std::filesystem;

constexpr std::string_view kSealLine = "xxh3-128 ";

Status WriteAll(int fd, std::string_view piece, const fs::path& path) {
  while (!piece.empty()) {
    const ssize_t n = write(fd, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      return FailErrno(errno, "cannot write", path.string());
    }
    piece.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Status Sync(int fd, const fs::path& path) {
  if (fsync(fd) != 0) {
    return FailErrno(errno, "cannot sync to the disk", path.string());
  }
  return {};
}

Status WriteBuffered(int fd, std::span<const std::string_view> pieces, const fs::path& path) {
  std::string buffer;
  for (const std::string_view piece : pieces) {
    if (!buffer.empty() && buffer.size() + piece.size() > kWriteBufferBytes) {
      REPRISE_RETURN_IF_ERROR(WriteAll(fd, buffer, path));
      buffer.clear();
    }
    if (piece.size() > kWriteBufferBytes) {
      REPRISE_RETURN_IF_ERROR(WriteAll(fd, piece, path));
    } else {
      buffer += piece;
    }
  }
  return WriteAll(fd, buffer, path);
}

}  // namespace

Status WriteDurably(const fs::path& path, std::span<const std::string_view> pieces) {
  UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!fd.IsValid()) {
    return FailErrno(errno, "cannot create", path.string());
  }
  REPRISE_RETURN_IF_ERROR(WriteBuffered(fd.Get(), pieces, path));
  REPRISE_RETURN_IF_ERROR(Sync(fd.Get(), path));
  // A network file system may report a lost write only here.
  if (close(fd.Release()) != 0) {
    return FailErrno(errno, "cannot close", path.string());
  }
  return {};
}

Status SyncFolder(const fs::path& folder) {
  const UniqueFd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.IsValid()) {
    return FailErrno(errno, "cannot open the folder", folder.string());
  }
  return Sync(fd.Get(), folder);
}

Status MakeFolder(const fs::path& folder) {
  if (mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST) {
    return FailErrno(errno, "cannot create the folder", folder.string());
  }
  return {};
}

Status Rename(const fs::path& from, const fs::path& to) {
  if (rename(from.c_str(), to.c_str()) != 0) {
    return FailErrno(errno, "cannot rename to " + to.filename().string(), from.string());
  }
  return {};
}

Status Exchange(const fs::path& a, const fs::path& b) {
  if (renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) != 0) {
    return FailErrno(errno, "cannot exchange with " + b.filename().string(), a.string());
  }
  return {};
}

Status Unlink(const fs::path& path) {
  if (unlink(path.c_str()) != 0 && errno != ENOENT) {
    return FailErrno(errno, "cannot remove", path.string());
  }
  return {};
}

Result<std::vector<std::string>> SortedNames(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  if (error == std::errc::no_such_file_or_directory) {
    return names;
  }
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (error) {
    return FailErrno(error.value(), "cannot list the folder", folder.string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Status RemoveFolder(const fs::path& folder) {
  std::error_code ignored;
  REPRISE_ASSIGN_OR_RETURN(const std::vector<std::string> names, SortedNames(folder));
  for (const std::string& name : names) {
    const bool is_folder = fs::is_directory(fs::symlink_status(folder / name, ignored));
    // Our checkpoints are flat; a folder inside is somebody else's leftover.
    REPRISE_RETURN_IF_ERROR(is_folder ? RemoveTree(folder / name) : Unlink(folder / name));
  }
  if (rmdir(folder.c_str()) != 0 && errno != ENOENT) {
    return FailErrno(errno, "cannot remove the folder", folder.string());
  }
  return {};
}

std::string Seal(std::string_view lines) {
  return fmt::format("{}{}{}\n", lines, kSealLine, ContentId(lines));
}

Result<std::string> Unseal(std::string_view text, const std::string& where) {
  const std::size_t at = text.rfind(kSealLine);
  if (at == std::string_view::npos || Seal(text.substr(0, at)) != text) {
    return Fail(ErrorCode::kCorrupt,
                "the last line is not the checksum of the lines before it: torn or damaged", where);
  }
  return std::string(text.substr(0, at));
}

}  // namespace reprise
