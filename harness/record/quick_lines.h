// Reads what nearly all of a logbook is, the sums of tensors and their descriptions, without the
// JSON library, which needs many times as long.
//
// Taken is exactly what our writer writes (probes/c/logbook_writer.cc). For any other spelling, and
// for whatever the strict reader refuses, the answer is nothing: the strict reader then decides,
// and says what is wrong. tests/fuzz holds both against each other.

#ifndef REPRISE_HARNESS_RECORD_QUICK_LINES_H_
#define REPRISE_HARNESS_RECORD_QUICK_LINES_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "harness/model/log_record.h"

namespace reprise {

// The largest rank, world size, attempt or number of replicas of a logbook that both readers take.
inline constexpr int kMaxRank = 1'000'000;

// A whole names record.
std::optional<NamesRecord> ReadNamesLine(std::string_view line);

// A state record without its sums, as text, and these.
struct SplitState {
  std::string line;
  std::map<int, DigestSum> sums;
};
std::optional<SplitState> SplitStateLine(std::string_view line);

}  // namespace reprise

#endif  // REPRISE_HARNESS_RECORD_QUICK_LINES_H_
