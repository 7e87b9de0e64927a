// The closing part of the console report; see console_summary.h.

#include "reports/console_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "reports/cells.h"
#include "reports/matrix.h"
#include "reports/text.h"

namespace reprise {
namespace {

constexpr std::size_t kShownCases = 3;
constexpr std::size_t kShownLines = 20;  // of a list without natural bound

std::string FactLine(std::string_view label, const std::string& value) {
  return fmt::format("   {:<9} {}\n", label, value);
}

// The facts of the simplest case, without those that the head has said.
std::string FactsText(const Finding& finding, const CaseReport& first) {
  std::string text;
  const Outcome& outcome = first.outcome;
  for (const auto& [label, value] : CaseFacts(first)) {
    if (label == "cause" && finding.proven) {
      text += FactLine(label, value + " (proven)");
    } else if (label != "verdict" && label != "why") {
      text += FactLine(label, value);
    }
  }
  const bool is_said = !outcome.evidence.empty() ||
                       (outcome.divergence && outcome.divergence->detail == finding.why);
  return is_said || finding.why.empty() ? text : text + FactLine("why", ForReading(finding.why));
}

// One finding as a paragraph.
std::string FindingText(std::size_t number, const Finding& finding, const CaseReport* first,
                        const WriterOptions& options) {
  const bool must_act = !finding.expected && !finding.accepted;
  const std::string head =
      fmt::format("{}. {}: {}", number, ToText(finding.verdict), ForReading(finding.title));
  return Paint(options.colour, must_act ? Tone::kBad : Tone::kStrong, head) +
         FindingRemark(finding, ForReading) + "\n" +
         (first == nullptr ? "" : FactsText(finding, *first)) +
         FactLine("seen in", fmt::format("{} (fingerprint {})",
                                         CaseList(finding.cases, kShownCases, ForReading),
                                         ForReading(finding.fingerprint)));
}

// "3 findings, 1 of them expected, 1 accepted"
std::string FindingsHead(const Report& report) {
  const auto count = [&report](auto is_meant) {
    return static_cast<std::size_t>(
        std::count_if(report.findings.begin(), report.findings.end(), is_meant));
  };
  const std::size_t expected = count([](const Finding& finding) { return finding.expected; });
  const std::size_t accepted =
      count([](const Finding& finding) { return finding.accepted.has_value(); });
  std::string text = Count(report.findings.size(), "finding");
  text += expected > 0 ? fmt::format(", {} expected", expected) : "";
  return text + (accepted > 0 ? fmt::format(", {} accepted", accepted) : "");
}

std::string FindingsText(const Report& report, const WriterOptions& options) {
  std::vector<const Finding*> findings = FindingsToRead(report);
  if (options.quiet) {
    std::erase_if(findings, [](const Finding* finding) {
      return finding->expected || finding->accepted.has_value();
    });
  }
  if (findings.empty()) {
    return options.quiet ? "" : "No findings.\n\n";
  }
  std::string text = FindingsHead(report) + "\n\n";
  const auto index = CasesById(report);
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const auto first = findings[i]->cases.empty() ? index.end() : index.find(findings[i]->cases[0]);
    text +=
        FindingText(i + 1, *findings[i], first == index.end() ? nullptr : first->second, options) +
        "\n";
  }
  return text;
}

std::string ChangesText(const char* title, const std::vector<Change>& changes, Tone tone,
                        const WriterOptions& options) {
  if (changes.empty()) {
    return "";
  }
  std::string text =
      Paint(options.colour, tone, fmt::format("{}: {}", changes.size(), title)) + "\n";
  for (std::size_t i = 0; i < std::min(kShownLines, changes.size()); ++i) {
    const Change& change = changes[i];
    text += fmt::format("   {}\n", CaseList(change.cases, kShownCases, ForReading));
    text += FactLine("before", ForReading(change.before));
    text += FactLine("now", ForReading(change.after));
    text += FactLine("replay", ForReading(change.replay));
  }
  if (changes.size() > kShownLines) {
    text += fmt::format("   and {} more, see the report\n", changes.size() - kShownLines);
  }
  return text + "\n";
}

// What differs from an earlier report, regressions first.
std::string ComparisonText(const Report& report, const WriterOptions& options) {
  if (!report.comparison) {
    return "";
  }
  const Comparison& comparison = *report.comparison;
  std::string text = ChangesText("regressed", comparison.regressions, Tone::kBad, options);
  if (options.quiet) {
    return text;
  }
  text += ChangesText("fixed", comparison.fixed, Tone::kGood, options);
  text += ChangesText("changed", comparison.changed, Tone::kDoubtful, options);
  text += fmt::format("{} as before, of {} that {} has too\n",
                      Count(static_cast<std::size_t>(comparison.same_count), "case"),
                      comparison.shared_count, ForReading(comparison.earlier));
  if (!comparison.gone.empty()) {
    text +=
        fmt::format("not run any more: {}\n", CaseList(comparison.gone, kShownCases, ForReading));
  }
  return text + "\n";
}

// What no finding paragraph explains and still needs a person: errors of ours, expectations that
// were not met, cases that proved nothing.
std::string TroubleOf(const CaseReport& the_case) {
  const Outcome& outcome = the_case.outcome;
  switch (AttentionOf(the_case)) {
    case Attention::kOurError:
      return "reprise failed: " + ForReading(outcome.why);
    case Attention::kUnproven:
      return fmt::format("{}: {}", ToText(outcome.verdict), ForReading(outcome.why));
    case Attention::kUnmet:
      return IsFinding(outcome.verdict) ? ""
                                        : "expectation not met: " + ForReading(the_case.unmet_why);
    case Attention::kNone:
    case Attention::kExpected:
    case Attention::kAccepted:
      break;
  }
  return "";
}

std::string TroubleText(const Report& report, const WriterOptions& options) {
  std::vector<std::string> lines;
  for (const CaseReport& the_case : report.cases) {
    const std::string trouble = TroubleOf(the_case);
    if (trouble.empty()) {
      continue;
    }
    lines.push_back(fmt::format("   {}  {}\n", ForReading(the_case.the_case.id), trouble));
    if (!the_case.replay.empty()) {
      lines.back() += FactLine("replay", ForReading(the_case.replay));
    }
  }
  if (lines.empty()) {
    return "";
  }
  const std::size_t shown = std::min(kShownLines, lines.size());
  std::string text =
      Paint(options.colour, Tone::kBad, Count(lines.size(), "case") + " to look at") + "\n";
  for (std::size_t i = 0; i < shown; ++i) {
    text += lines[i];
  }
  if (shown < lines.size()) {
    text += fmt::format("   and {} more, see the report\n", lines.size() - shown);
  }
  return text + "\n";
}

std::string NotesText(const Report& report) {
  std::string text;
  for (const std::string& note : report.notes) {
    text += "note: " + ForReading(note) + "\n";
  }
  return text;
}

std::string CutText(const Report& report) {
  if (report.cut.empty()) {
    return "";
  }
  return fmt::format("Cut short: {} ({} of {} planned cases were run)\n", ForReading(report.cut),
                     report.cases.size(), report.planned_case_count);
}

std::string CountsText(const Report& report) {
  std::vector<std::string> parts;
  for (const Verdict verdict : AllVerdicts()) {
    const auto found = report.summary.find(std::string(ToText(verdict)));
    if (found != report.summary.end() && found->second > 0) {
      parts.push_back(fmt::format("{} {}", found->second, ToText(verdict)));
    }
  }
  std::string text = fmt::format("{} in {:.1f} s: {}\n", Count(report.cases.size(), "case"),
                                 report.wall_s, fmt::join(parts, ", "));
  const std::string damage = DamageText(DamageOf(report));
  return text + (damage.empty() ? "" : damage + "\n") + CutText(report);
}

std::string ListLine(const std::string& target, const char* what,
                     const std::vector<std::string>& values) {
  if (values.empty()) {
    return "";
  }
  std::vector<std::string> shown;
  shown.reserve(values.size());
  for (const std::string& value : values) {
    shown.push_back(ForReading(value));
  }
  return fmt::format("{}: {}: {}\n", target, what, fmt::join(shown, "; "));
}

// What was not looked at, and where the reference itself does not repeat.
std::string LimitsText(const Report& report, const WriterOptions& options) {
  std::string text;
  for (const TargetReport& target : report.targets) {
    const std::string id = ForReading(target.target.id);
    text += ListLine(id, "not observed", target.blind_spots);
    text += ListLine(id, "not exercised", target.not_exercised);
    const Calibration& calibration = target.calibration;
    if (!calibration.observed) {
      text += fmt::format("{}: whether two equal runs are equal was not observed\n", id);
    } else if (!calibration.deterministic) {
      const std::string where = calibration.first_difference
                                    ? DivergenceText(*calibration.first_difference)
                                    : ForReading(calibration.noise);
      text += fmt::format("{}: not deterministic: two equal runs differ, first at {}\n", id, where);
    }
  }
  return text.empty() ? "" : Paint(options.colour, Tone::kDoubtful, text);
}

}  // namespace

std::string Paint(bool colour, Tone tone, std::string_view text) {
  if (!colour) {
    return std::string(text);
  }
  std::string_view code;
  switch (tone) {
    case Tone::kBad:
      code = "1;31";
      break;
    case Tone::kGood:
      code = "32";
      break;
    case Tone::kDoubtful:
      code = "33";
      break;
    case Tone::kStrong:
      code = "1";
      break;
  }
  return fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

std::string ConsoleSummary(const Report& report, const WriterOptions& options) {
  if (options.quiet && report.exit_status == 0) {
    return report.cut.empty() ? "" : CutText(report);
  }
  std::string text = "\n" + ComparisonText(report, options) + FindingsText(report, options) +
                     TroubleText(report, options) + NotesText(report);
  if (!options.quiet) {
    const std::string matrix = MatrixText(report);
    text += matrix.empty() ? "" : matrix + "\n";
    text += CountsText(report) + LimitsText(report, options);
  }
  if (!report.run_directory.empty()) {
    text += fmt::format("report: {}/report.json\n", ForReading(report.run_directory));
  }
  const Tone tone = report.exit_status == 0 ? Tone::kGood : Tone::kBad;
  return text + Paint(options.colour, tone, ExitWords(report)) + "\n";
}

}  // namespace reprise
