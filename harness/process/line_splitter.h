// Cuts a stream of bytes into lines, with a bound on what is kept of an unfinished one.

#ifndef REPRISE_HARNESS_PROCESS_LINE_SPLITTER_H_
#define REPRISE_HARNESS_PROCESS_LINE_SPLITTER_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {

class LineSplitter {
 public:
  explicit LineSplitter(std::size_t max_line_bytes) : max_line_bytes_(max_line_bytes) {}

  // The lines that `bytes` completes, without their newlines. A longer line than the bound is left
  // out and counted.
  std::vector<std::string> Add(std::string_view bytes);

  // What came after the last newline, and forgets it; empty when there is nothing.
  std::string TakeRest();

  [[nodiscard]] int TooLongCount() const { return too_long_count_; }

 private:
  void Keep(std::string_view bytes);

  std::size_t max_line_bytes_;
  std::string unfinished_;
  bool too_long_ = false;  // the unfinished line has exceeded the bound
  int too_long_count_ = 0;
};

}  // namespace reprise

#endif  // REPRISE_HARNESS_PROCESS_LINE_SPLITTER_H_
