#include "harness/record/line_reader.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "harness/base/files.h"

namespace reprise {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{64} << 10;
constexpr unsigned kMebibyteShift = 20;

}  // namespace

Result<LineReader> LineReader::Open(const std::filesystem::path& path, const LineLimits& limits) {
  REPRISE_ASSIGN_OR_RETURN(RegularFile file, OpenRegularFile(path));
  return LineReader(std::move(file.fd), path.string(), limits);
}

Result<std::optional<std::string_view>> LineReader::Next() {
  std::size_t searched = begin_;
  ++line_;
  for (;;) {  // ends with the file, or at a limit
    const std::size_t newline = buffer_.find('\n', searched);
    const bool is_found = newline != std::string::npos;
    if (is_found && newline - begin_ < limits_.line_bytes) {
      const std::string_view line = std::string_view(buffer_).substr(begin_, newline - begin_);
      begin_ = newline + 1;
      return line;
    }
    if (is_found || buffer_.size() - begin_ >= limits_.line_bytes) {
      return Fail(ErrorCode::kCorrupt,
                  fmt::format("a line of more than {} MiB; is this {}?",
                              limits_.line_bytes >> kMebibyteShift, limits_.what),
                  Where());
    }
    // Given lines are dropped only now: once a chunk, not once a line.
    buffer_.erase(0, begin_);
    begin_ = 0;
    searched = buffer_.size();
    REPRISE_ASSIGN_OR_RETURN(const bool more, Fill());
    if (!more) {
      return std::nullopt;
    }
  }
}

std::string LineReader::Where() const { return fmt::format("{}:{}", path_, line_); }

Result<bool> LineReader::Fill() {
  const std::size_t old_size = buffer_.size();
  buffer_.resize(old_size + kChunkBytes);
  ssize_t n = -1;
  do {
    n = read(fd_.Get(), buffer_.data() + old_size, kChunkBytes);
  } while (n < 0 && errno == EINTR);
  buffer_.resize(old_size + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  if (n < 0) {
    return FailErrno(errno, "cannot read", path_);
  }
  read_bytes_ += static_cast<std::uint64_t>(n);
  if (read_bytes_ > limits_.file_bytes) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("the file has more than {} MiB; is this {}?",
                            limits_.file_bytes >> kMebibyteShift, limits_.what),
                Where());
  }
  return n > 0;
}

}  // namespace reprise
