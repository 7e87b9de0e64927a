#include "harness/record/logbook_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "harness/record/line_reader.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

// A record is at most 16 MiB; what records hold takes about as much memory as their text.
constexpr LineLimits kLimits = {.line_bytes = std::uint64_t{16} << 20,
                                .file_bytes = std::uint64_t{4} << 30,
                                .what = "a logbook (docs/logbook.md)"};

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
  REPRISE_ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(path, kLimits));
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
