// The closing part of the console report: what broke, a matrix of all cases, what was not looked
// at.

#ifndef REPRISE_REPORTS_CONSOLE_SUMMARY_H_
#define REPRISE_REPORTS_CONSOLE_SUMMARY_H_

#include <string>
#include <string_view>

#include "harness/model/report.h"
#include "reports/report_writer.h"

namespace reprise {

// What a text means to the reader; shown as a colour where colours are on.
enum class Tone { kBad, kGood, kDoubtful, kStrong };

// `text` as it is, or between the escape sequences of `tone`.
std::string Paint(bool colour, Tone tone, std::string_view text);

// The whole closing part, findings first. With options.quiet only what a person must act on:
// nothing at all when the exit status is 0.
std::string ConsoleSummary(const Report& report, const WriterOptions& options);

}  // namespace reprise

#endif  // REPRISE_REPORTS_CONSOLE_SUMMARY_H_
