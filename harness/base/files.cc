#include "harness/base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace reprise {
namespace {

namespace fs = std::filesystem;

Status ReadExactly(int fd, std::uint64_t offset_bytes, std::string* buffer, const fs::path& path) {
  std::size_t done = 0;
  while (done < buffer->size()) {
    const ssize_t n = pread(fd, buffer->data() + done, buffer->size() - done,
                            static_cast<off_t>(offset_bytes + done));
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      return FailErrno(errno, "cannot read", path.string());
    }
    if (n == 0) {
      return Fail(ErrorCode::kCorrupt,
                  fmt::format("the file ends at byte {}, expected {} bytes from byte {}",
                              offset_bytes + done, buffer->size(), offset_bytes),
                  path.string());
    }
    done += static_cast<std::size_t>(n);
  }
  return {};
}

Status WriteAll(int fd, std::string_view content, const fs::path& path) {
  while (!content.empty()) {
    const ssize_t n = write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      return FailErrno(errno, "cannot write", path.string());
    }
    content.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

}  // namespace

Result<RegularFile> OpenRegularFile(const fs::path& path) {
  // O_NONBLOCK: a FIFO in place of a file must not block us; it is refused below.
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.IsValid()) {
    const int error = errno;
    if (error == ENOENT || error == ENOTDIR) {
      return Fail(ErrorCode::kNotFound, "no such file", path.string());
    }
    return FailErrno(error, "cannot open", path.string());
  }
  struct stat status = {};
  if (fstat(fd.Get(), &status) != 0) {
    return FailErrno(errno, "cannot stat", path.string());
  }
  if (!S_ISREG(status.st_mode)) {
    return Fail(ErrorCode::kCorrupt, "expected a regular file", path.string());
  }
  return RegularFile{std::move(fd), static_cast<std::uint64_t>(status.st_size)};
}

Result<std::string> ReadFile(const fs::path& path, std::uint64_t max_bytes) {
  REPRISE_ASSIGN_OR_RETURN(const RegularFile file, OpenRegularFile(path));
  const std::uint64_t size = file.size_bytes;
  if (size > max_bytes) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("{} bytes is more than the limit of {}", size, max_bytes),
                path.string());
  }
  std::string content(size, '\0');
  REPRISE_RETURN_IF_ERROR(ReadExactly(file.fd.Get(), 0, &content, path));
  return content;
}

Result<std::string> ReadFileRange(const fs::path& path, std::uint64_t offset_bytes,
                                  std::uint64_t length_bytes) {
  REPRISE_ASSIGN_OR_RETURN(const RegularFile file, OpenRegularFile(path));
  const std::uint64_t size = file.size_bytes;
  if (offset_bytes > size || length_bytes > size - offset_bytes) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("the file has {} bytes, expected {} bytes from byte {}", size,
                            length_bytes, offset_bytes),
                path.string());
  }
  std::string content(length_bytes, '\0');
  REPRISE_RETURN_IF_ERROR(ReadExactly(file.fd.Get(), offset_bytes, &content, path));
  return content;
}

Status WriteFileAtomically(const fs::path& path, std::string_view content) {
  const fs::path temporary = path.string() + ".tmp";
  UniqueFd fd(open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd.IsValid()) {
    return FailErrno(errno, "cannot create", temporary.string());
  }
  if (auto status = WriteAll(fd.Get(), content, temporary); !status) {
    unlink(temporary.c_str());
    return status;
  }
  fd.Reset();
  if (rename(temporary.c_str(), path.c_str()) != 0) {
    return FailErrno(errno, "cannot rename to this name", path.string());
  }
  return {};
}

Status AppendToFile(const fs::path& path, std::string_view content) {
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!fd.IsValid()) {
    return FailErrno(errno, "cannot open for appending", path.string());
  }
  return WriteAll(fd.Get(), content, path);
}

Status MakeFolders(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    return FailErrno(error.value(), "cannot create the folder", path.string());
  }
  return {};
}

Status CopyTree(const fs::path& from, const fs::path& to) {
  std::error_code error;
  if (fs::exists(fs::symlink_status(to, error))) {
    return Fail(ErrorCode::kSystem, "the destination of a copy exists already", to.string());
  }
  fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::copy_symlinks, error);
  if (error) {
    return FailErrno(error.value(), "cannot copy the tree to " + to.string(), from.string());
  }
  return {};
}

Status RemoveTree(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (!error) {
    return {};
  }
  std::error_code ignored;
  for (auto entry = fs::recursive_directory_iterator(
           path, fs::directory_options::skip_permission_denied, ignored);
       entry != fs::recursive_directory_iterator(); entry.increment(ignored)) {
    if (!entry->is_symlink(ignored) && entry->is_directory(ignored)) {
      fs::permissions(entry->path(), fs::perms::owner_all, fs::perm_options::add, ignored);
    }
  }
  fs::remove_all(path, error);
  if (error) {
    return FailErrno(error.value(), "cannot remove", path.string());
  }
  return {};
}

}  // namespace reprise
