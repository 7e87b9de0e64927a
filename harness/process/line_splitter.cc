#include "harness/process/line_splitter.h"

#include <utility>

namespace reprise {

std::vector<std::string> LineSplitter::Add(std::string_view bytes) {
  std::vector<std::string> lines;
  for (std::size_t end = bytes.find('\n'); end != std::string_view::npos; end = bytes.find('\n')) {
    Keep(bytes.substr(0, end));
    if (!too_long_) {
      lines.push_back(std::move(unfinished_));
    }
    unfinished_.clear();
    too_long_ = false;
    bytes.remove_prefix(end + 1);
  }
  Keep(bytes);
  return lines;
}

std::string LineSplitter::TakeRest() {
  too_long_ = false;
  return std::exchange(unfinished_, {});
}

void LineSplitter::Keep(std::string_view bytes) {
  if (too_long_) {
    return;
  }
  if (unfinished_.size() + bytes.size() > max_line_bytes_) {
    too_long_ = true;
    ++too_long_count_;
    unfinished_ = {};
    return;
  }
  unfinished_ += bytes;
}

}  // namespace reprise
