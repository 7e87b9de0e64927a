#include "harness/record/logbook_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "harness/base/unique_fd.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxLineBytes = std::size_t{16} << 20;  // with its newline
constexpr std::size_t kChunkBytes = std::size_t{64} << 10;

// The lines of a file, one at a time; never holds more than one line and one chunk.
class LineReader {
 public:
  static Result<LineReader> Open(const fs::path& path) {
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
    return LineReader(std::move(fd), path.string());
  }

  // The next line without its newline, valid until the next call; nothing at the end of the file.
  Result<std::optional<std::string_view>> Next() {
    buffer_.erase(0, consumed_);
    consumed_ = 0;
    std::size_t searched = 0;
    ++line_;
    for (;;) {
      const std::size_t newline = buffer_.find('\n', searched);
      if (newline != std::string::npos && newline < kMaxLineBytes) {
        consumed_ = newline + 1;
        return std::string_view(buffer_).substr(0, newline);
      }
      if (buffer_.size() >= kMaxLineBytes) {
        return Fail(ErrorCode::kCorrupt,
                    "a line of more than 16 MiB; is this a logbook (docs/logbook.md)?", Where());
      }
      searched = buffer_.size();
      REPRISE_ASSIGN_OR_RETURN(const bool more, Fill());
      if (!more) {
        return std::nullopt;
      }
    }
  }

  // True when the end of the file has been reached and its last line had no newline.
  [[nodiscard]] bool IsTorn() const { return !buffer_.empty(); }
  // "file:line" of the line that Next() returned last.
  [[nodiscard]] std::string Where() const { return fmt::format("{}:{}", path_, line_); }

 private:
  LineReader(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  // False at the end of the file.
  Result<bool> Fill() {
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
    return n > 0;
  }

  UniqueFd fd_;
  std::string path_;
  std::string buffer_;
  std::size_t consumed_ = 0;
  std::size_t line_ = 0;
};

// N of "rank-N.jsonl", or nothing for any other name ("rank-01.jsonl" is another name).
std::optional<int> RankOfFileName(const std::string& name) {
  int rank = -1;
  const std::string_view prefix = "rank-";
  if (!name.starts_with(prefix)) {
    return std::nullopt;
  }
  const char* const begin = name.data() + prefix.size();
  const auto [stop, error] = std::from_chars(begin, name.data() + name.size(), rank);
  if (error != std::errc() || rank < 0 || fmt::format("rank-{}.jsonl", rank) != name) {
    return std::nullopt;
  }
  return rank;
}

// What one line cannot know: the order of the records, and the numbers of the tensors.
class SequenceChecker {
 public:
  explicit SequenceChecker(std::optional<int> expected_rank) : expected_rank_(expected_rank) {}

  Status Check(const LogRecord& record, const std::string& where) {
    if (const auto* start = std::get_if<StartRecord>(&record)) {
      return CheckStart(*start, where);
    }
    if (!started_) {
      return Fail(ErrorCode::kCorrupt, "the first record must be of type \"start\"", where);
    }
    if (const auto* names = std::get_if<NamesRecord>(&record)) {
      tensor_count_ += names->tensors.size();
    }
    if (const auto* state = std::get_if<StateRecord>(&record)) {
      return CheckState(*state, where);
    }
    return {};
  }

 private:
  Status CheckStart(const StartRecord& start, const std::string& where) {
    if (started_) {
      return Fail(ErrorCode::kCorrupt,
                  "a second start record; each attempt needs a logbook folder of its own", where);
    }
    if (expected_rank_ && *expected_rank_ != start.rank) {
      return Fail(ErrorCode::kCorrupt,
                  fmt::format("expected rank {} after the file's name, found rank {}",
                              *expected_rank_, start.rank),
                  where);
    }
    started_ = true;
    return {};
  }

  [[nodiscard]] Status CheckState(const StateRecord& state, const std::string& where) const {
    if (!state.tensors.empty() &&
        static_cast<std::size_t>(state.tensors.rbegin()->first) >= tensor_count_) {
      return Fail(ErrorCode::kCorrupt,
                  fmt::format("tensor number {} has no description; the names records before this "
                              "line describe {} tensors",
                              state.tensors.rbegin()->first, tensor_count_),
                  where);
    }
    return {};
  }

  std::optional<int> expected_rank_;
  bool started_ = false;
  std::size_t tensor_count_ = 0;
};

}  // namespace

Result<Logbook> ReadLogbook(const std::filesystem::path& path) {
  REPRISE_ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(path));
  const std::optional<int> rank = RankOfFileName(path.filename().string());
  SequenceChecker checker(rank);
  Logbook logbook;
  logbook.rank = rank.value_or(0);
  for (;;) {  // ends with the file
    REPRISE_ASSIGN_OR_RETURN(const std::optional<std::string_view> line, lines.Next());
    if (!line) {
      logbook.torn_tail = lines.IsTorn();
      return logbook;
    }
    REPRISE_ASSIGN_OR_RETURN(LogRecord record, ParseLogRecord(*line, lines.Where()));
    REPRISE_RETURN_IF_ERROR(checker.Check(record, lines.Where()));
    if (const auto* start = std::get_if<StartRecord>(&record)) {
      logbook.rank = start->rank;
    }
    logbook.records.push_back(std::move(record));
  }
}

Result<std::vector<Logbook>> ReadLogbooks(const std::filesystem::path& folder) {
  std::error_code error;
  std::vector<std::pair<int, fs::path>> files;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (const auto rank = RankOfFileName(it->path().filename().string())) {
      files.emplace_back(*rank, it->path());
    }
  }
  if (error) {
    const bool missing = error == std::errc::no_such_file_or_directory;
    return Fail(missing ? ErrorCode::kNotFound : ErrorCode::kSystem,
                "cannot list the logbook folder: " + error.message(), folder.string());
  }
  std::sort(files.begin(), files.end());
  std::vector<Logbook> logbooks;
  for (const auto& [rank, path] : files) {
    REPRISE_ASSIGN_OR_RETURN(Logbook logbook, ReadLogbook(path));
    logbooks.push_back(std::move(logbook));
  }
  return logbooks;
}

}  // namespace reprise
