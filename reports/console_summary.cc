// The closing part of the console report; see console_summary.h.

#include "reports/console_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "reports/matrix.h"
#include "reports/text.h"

namespace reprise {
namespace {

constexpr std::size_t kShownCases = 3;
constexpr std::size_t kShownLines = 20;  // of a list without natural bound

using CasesById = std::map<std::string, const CaseReport*>;

CasesById IndexCases(const Report& report) {
  CasesById index;
  for (const CaseReport& the_case : report.cases) {
    index.emplace(the_case.the_case.id, &the_case);
  }
  return index;
}

std::string FactLine(std::string_view label, const std::string& value) {
  return fmt::format("   {:<9} {}\n", label, value);
}

std::string CaseList(const std::vector<std::string>& ids) {
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(kShownCases, ids.size()); ++i) {
    shown.push_back(ForReading(ids[i]));
  }
  std::string text = fmt::format("{}: {}", Count(ids.size(), "case"), fmt::join(shown, ", "));
  if (ids.size() > shown.size()) {
    text += fmt::format(" and {} more", ids.size() - shown.size());
  }
  return text;
}

// One finding as a paragraph; the facts are those of its simplest case.
std::string FindingText(std::size_t number, const Finding& finding, const CasesById& index,
                        const WriterOptions& options) {
  const std::string head =
      fmt::format("{}. {}: {}", number, ToText(finding.verdict), ForReading(finding.title));
  std::string text = Paint(options.colour, finding.expected ? Tone::kStrong : Tone::kBad, head) +
                     (finding.expected ? " (expected)\n" : "\n");
  const auto first = finding.cases.empty() ? index.end() : index.find(finding.cases[0]);
  if (first != index.end()) {
    for (const auto& [label, value] : CaseFacts(*first->second)) {
      // The head has said the verdict; the evidence says why where there is some.
      if (label == "cause" && finding.proven) {
        text += FactLine(label, value + " (proven)");
      } else if (label != "verdict" && label != "why") {
        text += FactLine(label, value);
      }
    }
    if (first->second->outcome.evidence.empty() && !finding.why.empty()) {
      text += FactLine("why", ForReading(finding.why));
    }
  }
  return text + FactLine("seen in", CaseList(finding.cases));
}

// Findings that nobody expects come first, else the order of the report.
std::string FindingsText(const Report& report, const WriterOptions& options) {
  std::vector<const Finding*> findings;
  std::size_t expected_count = 0;
  for (const Finding& finding : report.findings) {
    expected_count += finding.expected ? 1 : 0;
    if (!finding.expected || !options.quiet) {
      findings.push_back(&finding);
    }
  }
  std::stable_partition(findings.begin(), findings.end(),
                        [](const Finding* finding) { return !finding->expected; });
  if (findings.empty()) {
    return options.quiet ? "" : "No findings.\n\n";
  }
  std::string text = Count(report.findings.size(), "finding");
  if (expected_count == report.findings.size()) {
    text += ", expected";
  } else if (expected_count > 0) {
    text += fmt::format(", {} of them expected", expected_count);
  }
  text += "\n\n";
  const CasesById index = IndexCases(report);
  for (std::size_t i = 0; i < findings.size(); ++i) {
    text += FindingText(i + 1, *findings[i], index, options) + "\n";
  }
  return text;
}

struct Trouble {
  std::string label;
  std::string reason;
};

// What no finding paragraph explains and still needs a person: errors of ours, expectations that
// were not met, cases that proved nothing.
std::optional<Trouble> TroubleOf(const CaseReport& the_case) {
  const Outcome& outcome = the_case.outcome;
  if (outcome.verdict == Verdict::kHarnessError) {
    return Trouble{"reprise failed", outcome.why};
  }
  if (!the_case.met && the_case.expect && !IsFinding(outcome.verdict)) {
    return Trouble{"expectation not met", the_case.unmet_why};
  }
  if (ProvedNothing(outcome.verdict) && !the_case.expect) {
    return Trouble{std::string(ToText(outcome.verdict)), outcome.why};
  }
  return std::nullopt;
}

std::string TroubleText(const Report& report, const WriterOptions& options) {
  std::vector<std::string> lines;
  for (const CaseReport& the_case : report.cases) {
    const std::optional<Trouble> trouble = TroubleOf(the_case);
    if (!trouble) {
      continue;
    }
    lines.push_back(fmt::format("   {}  {}: {}\n", ForReading(the_case.the_case.id), trouble->label,
                                ForReading(trouble->reason)));
    if (!the_case.replay.empty()) {
      lines.back() += fmt::format("   {:<9} {}\n", "replay", ForReading(the_case.replay));
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
  return text + CutText(report);
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
  std::string text = "\n" + FindingsText(report, options) + TroubleText(report, options);
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
