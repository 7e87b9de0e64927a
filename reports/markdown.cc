// report.md: findings first, the matrix, the cells of the capability report; for a CI summary.
//
// GitHub refuses a step summary above 1 MiB as a whole, so parts that do not fit any more are left
// out and counted. What a target named or printed stands in code spans or is escaped: it makes no
// heading, link, table or HTML. Cumulative.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "reports/cells.h"
#include "reports/matrix.h"
#include "reports/report_writer.h"
#include "reports/text.h"

namespace reprise {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{900} << 10;
constexpr std::size_t kShownCases = 5;

// Text between marks; every ASCII character that may begin a mark is escaped (CommonMark, 2.4).
std::string Inline(std::string_view text) {
  std::string escaped;
  for (const char c : ForReading(text)) {
    escaped += std::string_view("\\`*_[]<>|~&#!").find(c) == std::string_view::npos
                   ? std::string(1, c)
                   : std::string("\\") + c;
  }
  return escaped;
}

// A code span with a fence that the text does not hold (CommonMark, 6.1).
std::string Code(const std::string& text) {
  std::size_t run = 0;
  std::size_t longest = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  const char* pad = longest > 0 ? " " : "";
  return fence + pad + text + pad + fence;
}

std::string CodeForReading(std::string_view text) { return Code(ForReading(text)); }

// A table cell: | ends it even inside a code span.
std::string InTable(std::string text) {
  for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2)) {
    text.insert(at, "\\");
  }
  return text;
}

class Page {
 public:
  // A part is written whole or not at all.
  void Add(const std::string& part) {
    if (text_.size() + part.size() > kMaxBytes) {
      ++left_out_;
    } else {
      text_ += part;
    }
  }

  [[nodiscard]] std::string Text() const {
    return left_out_ == 0 ? text_
                          : text_ + fmt::format("\n{} would not fit; report.json has all.\n",
                                                Count(left_out_, "part"));
  }

 private:
  std::string text_;
  std::size_t left_out_ = 0;
};

// Facts as a list, the replay command last, where it can be copied.
std::string FactsText(const CaseReport& report) {
  std::string text;
  for (const auto& [label, value] : CaseFacts(report)) {
    if (label != "replay" && label != "verdict") {
      text += fmt::format("- {}: {}\n", label, Code(value));
    }
  }
  return text + (report.replay.empty()
                     ? ""
                     : fmt::format("- replay: {}\n", Code(ForReading(report.replay))));
}

std::string FindingText(std::size_t number, const Finding& finding, const CaseReport* first) {
  std::string text =
      fmt::format("#### {}. {}: {}", number, ToText(finding.verdict), Inline(finding.title));
  text += FindingRemark(finding, Inline);
  text += "\n\n" + (first == nullptr ? std::string() : FactsText(*first));
  return text + fmt::format("- seen in {}\n- fingerprint: {}\n\n",
                            CaseList(finding.cases, kShownCases, CodeForReading),
                            Code(ForReading(finding.fingerprint)));
}

void AddFindings(const Report& report, Page* page) {
  const std::vector<const Finding*> findings = FindingsToRead(report);
  page->Add(findings.empty() ? "### No findings\n\n"
                             : fmt::format("### {}\n\n", Count(findings.size(), "finding")));
  const auto index = CasesById(report);
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const auto first = findings[i]->cases.empty() ? index.end() : index.find(findings[i]->cases[0]);
    page->Add(FindingText(i + 1, *findings[i], first == index.end() ? nullptr : first->second));
  }
}

void AddChanges(const char* title, const std::vector<Change>& changes, Page* page) {
  if (changes.empty()) {
    return;
  }
  page->Add(fmt::format("### {} {}\n\n| before | now | cases | replay |\n|---|---|---|---|\n",
                        changes.size(), title));
  for (const Change& change : changes) {
    page->Add(fmt::format("| {} | {} | {} | {} |\n", InTable(Code(ForReading(change.before))),
                          InTable(Code(ForReading(change.after))),
                          InTable(CaseList(change.cases, kShownCases, CodeForReading)),
                          InTable(Code(ForReading(change.replay)))));
  }
  page->Add("\n");
}

void AddComparison(const Report& report, Page* page) {
  if (!report.comparison) {
    return;
  }
  const Comparison& comparison = *report.comparison;
  AddChanges("regressed", comparison.regressions, page);
  AddChanges("fixed", comparison.fixed, page);
  AddChanges("changed", comparison.changed, page);
  page->Add(fmt::format("{} of {} as before", comparison.same_count,
                        Count(static_cast<std::size_t>(comparison.shared_count), "case")));
  page->Add(comparison.gone.empty()
                ? ".\n\n"
                : "; not run any more: " + CaseList(comparison.gone, kShownCases, CodeForReading) +
                      ".\n\n");
}

// What no finding explains and still needs a person.
void AddTrouble(const Report& report, Page* page) {
  bool is_first = true;
  for (const CaseReport& item : report.cases) {
    const Attention attention = AttentionOf(item);
    const bool is_explained = attention == Attention::kUnmet && IsFinding(item.outcome.verdict);
    if (attention == Attention::kNone || attention == Attention::kExpected ||
        attention == Attention::kAccepted || is_explained) {
      continue;
    }
    page->Add(is_first ? "### Cases to look at\n\n" : "");
    is_first = false;
    page->Add(fmt::format("#### {}: {}\n\n{}\n", ToText(item.outcome.verdict),
                          Inline(item.the_case.id), FactsText(item)));
  }
}

// "0 / 2": median and largest.
std::string Spread(const std::vector<double>& values, const char* format) {
  return values.empty()
             ? ""
             : fmt::format(fmt::runtime(format), values[values.size() / 2], values.back());
}

std::string CellRow(const Cell& cell) {
  int case_count = 0;
  for (const auto& [verdict, count] : cell.verdicts) {
    case_count += count;
  }
  const DamageCounts& damage = cell.damage;
  const std::string effects =
      damage.Judged() == 0 ? " | | |"
                           : fmt::format("{} | {} | {} | {}", damage.refused, damage.fell_back,
                                         damage.loaded_exact, damage.loaded_changed);
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
                     InTable(Inline(cell.target)), InTable(Inline(FaultKinds(cell.faults))),
                     WorldText(cell.world), InTable(Inline(cell.save_mode)), case_count,
                     ToText(cell.worst), Spread(cell.lost_steps, "{:.0f} / {:.0f}"),
                     Spread(cell.recovery_s, "{:.2f} / {:.2f}"), effects);
}

void AddCells(const Report& report, Page* page) {
  const std::string matrix = MatrixText(report);
  if (matrix.empty()) {
    return;
  }
  page->Add("### Matrix\n\n```\n" + matrix + "```\n\n");
  const std::string damage = DamageText(DamageOf(report));
  page->Add(damage.empty() ? "" : damage + "\n\n");
  page->Add(
      "<details><summary>Cells</summary>\n\n| target | faults | world | save mode | cases | worst "
      "| "
      "lost steps (median / most) | recovery in s (median / most) | refused | fell back | loaded, "
      "exact | loaded, changed |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const Cell& cell : CellsOf(report)) {
    page->Add(CellRow(cell));
  }
  page->Add("\n</details>\n\n");
}

void AddLimits(const Report& report, Page* page) {
  for (const TargetReport& target : report.targets) {
    for (const std::string& blind_spot : target.blind_spots) {
      page->Add(
          fmt::format("- {}: not observed: {}\n", Inline(target.target.id), Inline(blind_spot)));
    }
    if (!target.not_exercised.empty()) {
      page->Add(fmt::format("- {}: not exercised: {}\n", Inline(target.target.id),
                            Inline(fmt::format("{}", fmt::join(target.not_exercised, "; ")))));
    }
  }
  for (const std::string& note : report.notes) {
    page->Add("- " + Inline(note) + "\n");
  }
  if (!report.cut.empty()) {
    page->Add(fmt::format("- cut short: {}\n", Inline(report.cut)));
  }
}

class MarkdownWriter final : public ReportWriter {
 public:
  explicit MarkdownWriter(std::ostream& out) : out_(out) {}

  void OnFinished(const Report& report) override {
    Page page;
    page.Add(fmt::format("## reprise: {}\n\n{} in {:.1f} s, seed {}\n\n", Inline(ExitWords(report)),
                         Count(report.cases.size(), "case"), report.wall_s, report.seed));
    AddComparison(report, &page);
    AddFindings(report, &page);
    AddTrouble(report, &page);
    AddCells(report, &page);
    AddLimits(report, &page);
    out_ << page.Text();
  }

 private:
  std::ostream& out_;
};

}  // namespace

WriterInfo MarkdownWriterInfo() {
  return {.name = "markdown",
          .help = "findings, matrix and cells as a page of less than 1 MiB, for a CI summary",
          .file_name = "report.md",
          .make = [](std::ostream& out, const WriterOptions&) -> std::unique_ptr<ReportWriter> {
            return std::make_unique<MarkdownWriter>(out);
          }};
}

}  // namespace reprise
