// Words and escapes that all writers share, so that a case reads the same everywhere.
//
// What a target printed or named may be hostile (terminal escapes, bytes that are not UTF-8,
// megabytes); it passes through EscapeControls() before it reaches a terminal or an XML file.

#ifndef REPRISE_REPORTS_TEXT_H_
#define REPRISE_REPORTS_TEXT_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/model/report.h"

namespace reprise {

// The text as valid UTF-8 in which every control character (C0, DEL, C1), direction override,
// noncharacter and bad byte stands as \xNN or \u{NNNN}; newline, return and tab as \n, \r, \t.
std::string EscapeControls(std::string_view text);

// At most `max_bytes` bytes and " …"; never cuts inside a character. REQUIRES: `text` is valid
// UTF-8.
std::string Shorten(const std::string& text, std::size_t max_bytes);

// EscapeControls() of one value, cut to what a person reads.
std::string ForReading(std::string_view text);

// "kill.operation + damage.flip", without parameters; "no fault".
std::string FaultKinds(const Case& the_case);
std::string FaultKinds(const std::vector<std::string>& kinds);

// "kill.operation cut=before operation=1/0/3 + …"; "no fault".
std::string FaultText(const Case& the_case);

// "2>1": world size of each life, in order.
std::string WorldText(const std::vector<int>& world);

// "D1 (state in the checkpoint and after the load), step 20, rank 1: exp_avg/…".
std::string DivergenceText(const Divergence& divergence);

// "3 cases", "1 case".
std::string Count(std::size_t count, const std::string& noun);

// What a reader wants to know of a case, as (label, value), the replay command first; escaped, and
// without entries that have nothing to say.
std::vector<std::pair<std::string, std::string>> CaseFacts(const CaseReport& report);

// What a writer must say of a case, beyond its facts.
enum class Attention { kNone, kExpected, kAccepted, kUnproven, kUnmet, kOurError };

// kUnproven: it proved nothing, and no scenario expects that.
Attention AttentionOf(const CaseReport& report);

// The cases of a report by id.
std::map<std::string, const CaseReport*> CasesById(const Report& report);

// The findings in the order in which a person reads them: those that fail, accepted ones, expected
// ones; else the order of the report.
std::vector<const Finding*> FindingsToRead(const Report& report);

// "4 cases: A, B and 2 more"; `show` makes an id fit for the writer.
using ShowText = std::string (*)(std::string_view text);
std::string CaseList(const std::vector<std::string>& ids, std::size_t shown_count, ShowText show);

// " (expected)", " (accepted 2026-11-30: reason)", or nothing.
std::string FindingRemark(const Finding& finding, ShowText show);

// "exit 1: 3 cases did not end as expected (2 of them findings)", for the last line.
std::string ExitWords(const Report& report);

}  // namespace reprise

#endif  // REPRISE_REPORTS_TEXT_H_
