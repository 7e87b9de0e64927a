// Annotations for GitHub Actions: printed lines of the form `::error title=…::message`, which the
// runner shows beside the job.
//
// A step may have ten annotations of each level, later ones are dropped, so the tenth counts what
// is left. Escapes as the runner undoes them (actions/toolkit, packages/core/src/command.ts): % CR
// LF in messages, also : and , in properties. Cumulative.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "reports/report_writer.h"
#include "reports/text.h"

namespace reprise {
namespace {

constexpr std::size_t kMaxPerLevel = 10;

std::string Escape(const std::string& text, bool in_property) {
  std::string escaped;
  for (const char c : text) {
    const bool special =
        c == '%' || c == '\r' || c == '\n' || (in_property && (c == ':' || c == ','));
    escaped += special ? fmt::format("%{:02X}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return escaped;
}

class Level {
 public:
  explicit Level(std::string name) : name_(std::move(name)) {}

  // REQUIRES: texts without control characters but newline.
  void Add(const std::string& title, const std::string& message) {
    lines_.push_back(fmt::format("::{} title={}::{}\n", name_, Escape("reprise: " + title, true),
                                 Escape(message, false)));
  }

  [[nodiscard]] std::string Text() const {
    std::string text;
    const bool all = lines_.size() <= kMaxPerLevel;
    const std::size_t shown = all ? lines_.size() : kMaxPerLevel - 1;
    for (std::size_t i = 0; i < shown; ++i) {
      text += lines_[i];
    }
    if (!all) {
      text += fmt::format("::{} title=reprise::{} more, see the report\n", name_,
                          lines_.size() - shown);
    }
    return text;
  }

 private:
  std::string name_;
  std::vector<std::string> lines_;
};

std::string FactsOf(const CaseReport& report) {
  std::string text;
  for (const auto& [label, value] : CaseFacts(report)) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : "\n", label, value);
  }
  return text;
}

struct Annotations {
  Level error{"error"};
  Level warning{"warning"};
  Level notice{"notice"};
};

// Where an earlier report decides, only what got worse is an error.
Level& Failing(const Report& report, Annotations& annotations) {
  return report.comparison ? annotations.warning : annotations.error;
}

void AddRegressions(const Report& report, Annotations& annotations) {
  if (!report.comparison) {
    return;
  }
  for (const Change& change : report.comparison->regressions) {
    annotations.error.Add(fmt::format("regression in {}", Count(change.cases.size(), "case")),
                          fmt::format("replay: {}\nbefore: {}\nnow: {}", ForReading(change.replay),
                                      ForReading(change.before), ForReading(change.after)));
  }
}

void AddFindings(const Report& report, Annotations& annotations) {
  const auto index = CasesById(report);
  for (const Finding* finding : FindingsToRead(report)) {
    const auto first = finding->cases.empty() ? index.end() : index.find(finding->cases[0]);
    const std::string facts = first == index.end() ? "" : FactsOf(*first->second);
    const std::string message =
        fmt::format("{} ({}, fingerprint {})\n{}", ForReading(finding->title),
                    Count(finding->cases.size(), "case"), ForReading(finding->fingerprint), facts);
    const std::string title(ToText(finding->verdict));
    if (finding->accepted) {
      annotations.notice.Add(title + ", accepted", message);
    } else if (!finding->expected) {
      Failing(report, annotations).Add(title, message);
    }
  }
}

void AddCases(const Report& report, Annotations& annotations) {
  for (const CaseReport& item : report.cases) {
    const std::string title(ToText(item.outcome.verdict));
    switch (AttentionOf(item)) {
      case Attention::kOurError:
        Failing(report, annotations).Add(title, FactsOf(item));
        break;
      case Attention::kUnmet:
        if (!IsFinding(item.outcome.verdict)) {
          Failing(report, annotations).Add(title + " is not expected", FactsOf(item));
        }
        break;
      case Attention::kUnproven:
        annotations.warning.Add(title, FactsOf(item));
        break;
      case Attention::kNone:
      case Attention::kExpected:
      case Attention::kAccepted:
        break;
    }
  }
}

class GithubWriter final : public ReportWriter {
 public:
  explicit GithubWriter(std::ostream& out) : out_(out) {}

  void OnFinished(const Report& report) override {
    Annotations annotations;
    AddRegressions(report, annotations);
    AddFindings(report, annotations);
    AddCases(report, annotations);
    for (const std::string& note : report.notes) {
      annotations.warning.Add("accepted findings", ForReading(note));
    }
    annotations.notice.Add("result", ExitWords(report));
    out_ << annotations.error.Text() << annotations.warning.Text() << annotations.notice.Text()
         << std::flush;
  }

 private:
  std::ostream& out_;
};

}  // namespace

WriterInfo GithubWriterInfo() {
  return {.name = "github",
          .help = "annotations for GitHub Actions, printed: one for each finding",
          .file_name = "",
          .make = [](std::ostream& out, const WriterOptions&) -> std::unique_ptr<ReportWriter> {
            return std::make_unique<GithubWriter>(out);
          }};
}

}  // namespace reprise
