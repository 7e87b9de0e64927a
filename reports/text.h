// Words and escapes that all writers share, so that a case reads the same everywhere.
//
// What a target printed or named may be hostile (terminal escapes, bytes that are not UTF-8,
// megabytes); it passes through EscapeControls() before it reaches a terminal or an XML file.

#ifndef REPRISE_REPORTS_TEXT_H_
#define REPRISE_REPORTS_TEXT_H_

#include <cstddef>
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

// "kill.operation + damage.flip-bit", without parameters; "no fault".
std::string FaultKinds(const Case& the_case);

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

// "exit 1: 2 findings that no scenario expects", for the last line.
std::string ExitWords(const Report& report);

}  // namespace reprise

#endif  // REPRISE_REPORTS_TEXT_H_
