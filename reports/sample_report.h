// A report with one case of each kind that a writer must tell apart, for tests.

#ifndef REPRISE_REPORTS_SAMPLE_REPORT_H_
#define REPRISE_REPORTS_SAMPLE_REPORT_H_

#include <string>

#include "harness/model/report.h"

namespace reprise {

// Terminal escapes, markup, a NUL, a direction override and bytes that are not UTF-8.
std::string HostileText();

// An exact case, a fallback, a finding that nobody expects (with `payload` in every text that comes
// from a target), an accepted one, an expected one, a missed expectation, a case that proved
// nothing, our own failure. Exit status 1.
Report SampleReport(const std::string& payload);

// The same without what must be acted on. Exit status 0.
Report GoodReport();

}  // namespace reprise

#endif  // REPRISE_REPORTS_SAMPLE_REPORT_H_
