// The sample ids of a run as one sequence, and where the sequence of a restart lies in the
// reference's.

#ifndef REPRISE_HARNESS_JUDGE_CAUSES_ID_STREAM_H_
#define REPRISE_HARNESS_JUDGE_CAUSES_ID_STREAM_H_

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "harness/judge/causes/cause_rule.h"

namespace reprise {

// In the order step, micro-batch, logical worker: the same at any world size.
struct IdStream {
  std::vector<std::int64_t> ids;
  std::map<std::int64_t, std::size_t> start_of_step;  // index in `ids`
};
IdStream StreamOf(const RunView& view);

// Positions are indices in the reference's stream.
struct Alignment {
  std::int64_t first_step = 0;       // r + 1
  std::size_t expected = 0;          // where the restart should have gone on
  std::vector<std::size_t> matches;  // where its first steps really lie; ascending
  std::vector<std::size_t> epoch_starts;
  std::map<std::int64_t, std::size_t> start_of_step;  // of the reference

  [[nodiscard]] bool Has(std::size_t position) const;
  [[nodiscard]] std::optional<std::size_t> StartOfStep(std::int64_t step) const;
  // The start of the epoch that holds `position`, where epochs are recorded.
  [[nodiscard]] std::optional<std::size_t> EpochStart(std::size_t position) const;
};

// Nothing when the first difference is not about the order of samples at the first step after the
// restart, or one of the two runs recorded no ids there.
std::optional<Alignment> Align(const CauseContext& context);

}  // namespace reprise

#endif  // REPRISE_HARNESS_JUDGE_CAUSES_ID_STREAM_H_
