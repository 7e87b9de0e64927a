// The interface of a report writer, and the list of all of them.
//
// Streaming writers (console) use the On… calls as things happen; cumulative ones (JSON, JUnit) use
// OnFinished alone. Only reports/ and harness/cli/ print. One writer is one file and one line in
// writers.inc; tests compare with golden/ (`--update-golden` rewrites them).

#ifndef REPRISE_REPORTS_REPORT_WRITER_H_
#define REPRISE_REPORTS_REPORT_WRITER_H_

#include <chrono>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/model/report.h"

namespace reprise {

struct Progress {
  std::string phase;  // "reference runs", "cases", "confirming findings"
  int done = 0;
  int total = 0;
  int findings = 0;  // cases of the run so far that are findings and not expected
  std::chrono::milliseconds elapsed{0};
};

struct WriterOptions {
  bool terminal = false;  // redraw a progress line
  bool colour = false;
  bool quiet = false;  // only what a person must act on
};

class ReportWriter {
 public:
  virtual ~ReportWriter() = default;

  virtual void OnProgress(const Progress& /*progress*/) {}
  virtual void OnCase(const CaseReport& /*report*/) {}
  virtual void OnFinished(const Report& report) = 0;
};

struct WriterInfo {
  std::string name;  // "console" | "github" | "json" …
  std::string help;
  std::string file_name;  // inside the run directory ("report.json"); empty: standard output
  // `out` must outlive the writer.
  std::unique_ptr<ReportWriter> (*make)(std::ostream& out, const WriterOptions& options) = nullptr;
};

const std::vector<WriterInfo>& AllWriters();

// Null when there is none of that name.
const WriterInfo* FindWriter(std::string_view name);

}  // namespace reprise

#endif  // REPRISE_REPORTS_REPORT_WRITER_H_
