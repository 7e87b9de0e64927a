// How an attempt ended, as far as that alone is a finding (layer D0).

#ifndef REPRISE_HARNESS_JUDGE_END_CHECK_H_
#define REPRISE_HARNESS_JUDGE_END_CHECK_H_

#include <cstdint>
#include <optional>

#include "harness/judge/contract.h"
#include "harness/judge/run_view.h"
#include "harness/model/outcome.h"

namespace reprise {

bool WasHitByFault(const AttemptEvidence& attempt);

// Ended otherwise than by itself without an error: its last records may be missing.
bool WasCut(const AttemptEvidence& attempt);

// It announced a save, or changed files in the checkpoint folder.
bool ShowsSave(const AttemptEvidence& attempt);

Outcome HungOutcome(const AttemptEvidence& attempt, const RunView& view);

// Signal or error of a rank after `step`. REQUIRES: `ending` names such a rank.
void SetEndDivergence(const Ending& ending, const AttemptEvidence& attempt, std::int64_t step,
                      Outcome& outcome);

// What can be said only at the end: hung, crashed, short, overrun. Nothing when the attempt ended
// as it should, or by a fault.
std::optional<Outcome> CheckEnd(const AttemptEvidence& attempt, const RunView& view,
                                const RunView& reference, std::int64_t first_step);

// The last attempt ended without an error: what it acknowledged must be in the folder. Verdict,
// reason and divergence of a checkpoint that is not, or nothing.
std::optional<Outcome> CheckFolderAtEnd(const JudgeInput& input, std::int64_t acknowledged_by_last,
                                        std::int64_t acknowledged_before, bool was_damaged);

// Of a finished run that was started again: what became of the newest sound checkpoint that the
// finished run had left, where it is not the same any more. Layer D0.
std::optional<Divergence> ChangeOfNewestCheckpoint(const JudgeInput& input);

}  // namespace reprise

#endif  // REPRISE_HARNESS_JUDGE_END_CHECK_H_
