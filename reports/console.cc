// The console report: progress while cases run, each finding when it is first seen, the closing
// part.
//
// Streaming. Has no clock of its own: Progress::elapsed decides when a line is due, so equal calls
// print equal bytes.

#include <fmt/format.h>

#include <optional>
#include <set>
#include <utility>

#include "reports/console_summary.h"
#include "reports/report_writer.h"
#include "reports/text.h"

namespace reprise {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kRedrawInterval{100};
constexpr milliseconds kLineInterval{5000};
constexpr std::size_t kLineWidth = 78;  // a redrawn line must not wrap

std::string TimeLeft(milliseconds left) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(left).count();
  return fmt::format("{}:{:02}", seconds / 60, seconds % 60);
}

// Two cases with one key are one finding to the reader while the run goes on.
std::string LiveKey(const CaseReport& report) {
  const Outcome& outcome = report.outcome;
  const std::string layer =
      outcome.divergence ? std::string(ToText(outcome.divergence->layer)) : "";
  return fmt::format("{}|{}|{}|{}|{}", report.the_case.target, ToText(outcome.verdict),
                     outcome.cause.empty() ? layer : outcome.cause, FaultKinds(report.the_case),
                     report.met);
}

class ConsoleWriter final : public ReportWriter {
 public:
  ConsoleWriter(std::ostream& out, const WriterOptions& options) : out_(out), options_(options) {}

  void OnProgress(const Progress& progress) override {
    if (options_.quiet) {
      return;
    }
    const bool begins = !phase_start_ || phase_start_->phase != progress.phase;
    if (begins) {
      phase_start_ = progress;
    }
    const milliseconds interval = options_.terminal ? kRedrawInterval : kLineInterval;
    const bool ends = progress.done == progress.total;
    const bool due = begins || ends || progress.elapsed < *last_shown_ ||
                     progress.elapsed >= *last_shown_ + interval;
    if (!due) {
      return;
    }
    last_shown_ = progress.elapsed;
    const std::string line = Shorten(ProgressLine(progress), kLineWidth);
    if (options_.terminal) {
      out_ << "\r" << line << "\x1b[K" << std::flush;
      drawn_ = true;
    } else {
      out_ << line << "\n" << std::flush;
    }
  }

  void OnCase(const CaseReport& report) override {
    const Verdict verdict = report.outcome.verdict;
    const bool worth_telling =
        !report.met || verdict == Verdict::kHarnessError || IsFinding(verdict);
    const bool expected = report.met && verdict != Verdict::kHarnessError;
    if (!worth_telling || (options_.quiet && expected) || !told_.insert(LiveKey(report)).second) {
      return;
    }
    ClearLine();
    out_ << LiveText(report, expected) << std::flush;
  }

  void OnFinished(const Report& report) override {
    ClearLine();
    out_ << ConsoleSummary(report, options_) << std::flush;
  }

 private:
  [[nodiscard]] std::string ProgressLine(const Progress& progress) const {
    std::string line = fmt::format("{} {}/{}", progress.phase, progress.done, progress.total);
    const int done = progress.done - phase_start_->done;
    const milliseconds elapsed = progress.elapsed - phase_start_->elapsed;
    if (done > 0 && elapsed.count() > 0) {
      const double rate = 1000.0 * done / static_cast<double>(elapsed.count());
      line += fmt::format("  {:.1f}/s", rate);
    }
    if (progress.findings > 0) {
      line += "  " + Count(static_cast<std::size_t>(progress.findings), "unexpected finding");
    }
    if (done > 0 && elapsed.count() > 0 && progress.total > progress.done) {
      line += "  " + TimeLeft(elapsed * (progress.total - progress.done) / done) + " left";
    }
    return line;
  }

  [[nodiscard]] std::string LiveText(const CaseReport& report, bool expected) const {
    const Outcome& outcome = report.outcome;
    const char* label = expected ? "expected" : "FINDING ";
    if (outcome.verdict == Verdict::kHarnessError) {
      label = "ERROR   ";
    } else if (!report.met && !IsFinding(outcome.verdict)) {
      label = "UNMET   ";
    }
    const std::string where = outcome.divergence ? DivergenceText(*outcome.divergence) : "";
    const std::string& reason = outcome.cause.empty() ? outcome.why : outcome.cause;
    const std::string& said =
        IsFinding(outcome.verdict) || report.unmet_why.empty() ? reason : report.unmet_why;
    return fmt::format("{}  {}  {}, world {}: {}\n          {}{}{}\n",
                       Paint(options_.colour, expected ? Tone::kStrong : Tone::kBad, label),
                       ForReading(report.the_case.id), FaultKinds(report.the_case),
                       WorldText(report.the_case.world), ToText(outcome.verdict), ForReading(said),
                       said.empty() || where.empty() ? "" : "; ", where);
  }

  // Takes the redrawn line away before something else is printed.
  void ClearLine() {
    if (drawn_) {
      out_ << "\r\x1b[K";
      drawn_ = false;
    }
  }

  std::ostream& out_;
  WriterOptions options_;
  std::optional<Progress> phase_start_;
  std::optional<milliseconds> last_shown_;
  std::set<std::string> told_;
  bool drawn_ = false;
};

}  // namespace

WriterInfo ConsoleWriterInfo() {
  return {
      .name = "console",
      .help = "progress, findings and a closing summary for a person",
      .file_name = "",
      .make = [](std::ostream& out, const WriterOptions& options) -> std::unique_ptr<ReportWriter> {
        return std::make_unique<ConsoleWriter>(out, options);
      }};
}

}  // namespace reprise
