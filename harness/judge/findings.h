// From cases to what a person reads: findings, counts, exit status. Pure.

#ifndef REPRISE_HARNESS_JUDGE_FINDINGS_H_
#define REPRISE_HARNESS_JUDGE_FINDINGS_H_

#include <optional>
#include <string>
#include <vector>

#include "harness/model/report.h"

namespace reprise {

// Whether `outcome` is what was expected; without an expectation, whether it is no finding and no
// error of ours. `why_not` (may be null) gets one line when it is not.
bool MeetsExpectation(const Outcome& outcome, const std::optional<Expectation>& expectation,
                      std::string* why_not);

// Sets `met` and `unmet_why` of the cases, `findings`, `summary` and `exit_status`:
// 1 a finding that no case expects, or an expected one that is missing; else 3 an error of ours;
// else 4 nothing was judged, or a fault did not fire; else 0.
void Summarise(Report* report);

// Marks the findings that `accepted` names, and their cases: they do not fail. `notes` of the
// report says which entries fit no finding, or one that its scenario expects anyway. The exit
// status is made anew. REQUIRES: a report that was summarised.
void Accept(const std::vector<Acceptance>& accepted, Report* report);

// REQUIRES: two reports that were summarised, with the same findings accepted.
Comparison CompareReports(const Report& earlier, const Report& later);

// 1 a regression; else 4 no case in common; else 0.
int ExitStatusOf(const Comparison& comparison);

}  // namespace reprise

#endif  // REPRISE_HARNESS_JUDGE_FINDINGS_H_
