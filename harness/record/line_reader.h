// The lines of a JSON Lines file, one at a time, in bounded memory whatever the file holds.
//
// What is read may be torn, hostile or huge: a FIFO, a sparse file of 10 GB, one line of 64 MiB.
// Never holds more than one line and one chunk.

#ifndef REPRISE_HARNESS_RECORD_LINE_READER_H_
#define REPRISE_HARNESS_RECORD_LINE_READER_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/result.h"
#include "harness/base/unique_fd.h"

namespace reprise {

struct LineLimits {
  std::uint64_t line_bytes = 0;  // with its newline
  std::uint64_t file_bytes = 0;
  const char* what = "";  // the file should be: "a logbook (docs/logbook.md)"
};

class LineReader {
 public:
  // kNotFound; kCorrupt when it is no regular file; kSystem.
  static Result<LineReader> Open(const std::filesystem::path& path, const LineLimits& limits);

  // The next line without its newline, valid until the next call; nothing at the end of the file. A
  // last line without a newline is not given. kCorrupt, with file and line, beyond a limit.
  Result<std::optional<std::string_view>> Next();

  // Whether the last line had no newline. REQUIRES: Next() has returned nothing.
  [[nodiscard]] bool IsTorn() const { return begin_ < buffer_.size(); }
  // "file:line" of the line that Next() returned last.
  [[nodiscard]] std::string Where() const;
  [[nodiscard]] std::size_t Line() const { return line_; }

 private:
  LineReader(UniqueFd fd, std::string path, const LineLimits& limits)
      : fd_(std::move(fd)), path_(std::move(path)), limits_(limits) {}

  // False at the end of the file.
  Result<bool> Fill();

  UniqueFd fd_;
  std::string path_;
  LineLimits limits_;
  std::string buffer_;
  std::size_t begin_ = 0;  // of what Next() has not given yet
  std::uint64_t read_bytes_ = 0;
  std::size_t line_ = 0;
};

}  // namespace reprise

#endif  // REPRISE_HARNESS_RECORD_LINE_READER_H_
