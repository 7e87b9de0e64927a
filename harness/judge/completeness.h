// What an attempt left unrecorded although the reference recorded it.
//
// Models: a logbook with a gap. What could not be compared is never exact.

#ifndef REPRISE_HARNESS_JUDGE_COMPLETENESS_H_
#define REPRISE_HARNESS_JUDGE_COMPLETENESS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "harness/judge/judge.h"

namespace reprise {

struct CompletenessSpec {
  const AttemptEvidence* reference = nullptr;
  const AttemptEvidence* run = nullptr;
  std::int64_t first_step = 0;  // completed steps when the attempt began
  bool trajectory = true;       // false: only the state at `first_step` is compared
  bool is_cut = false;    // not ended by itself with exit status 0: owes nothing after its end
  bool is_async = false;  // saves are known to end in the background
};

// The first thing that is missing, as "no state after step 7; the reference did", or nothing. An
// attempt that was cut owes what the reference recorded before the attempt's last record: at the
// same world size rank by rank, else up to two steps before its last one.
std::optional<std::string> FirstMissing(const CompletenessSpec& spec);

}  // namespace reprise

#endif  // REPRISE_HARNESS_JUDGE_COMPLETENESS_H_
