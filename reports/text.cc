// Words and escapes that all writers share; see text.h.

#include "reports/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace reprise {
namespace {

constexpr std::size_t kMaxValueBytes = 400;

struct Decoded {
  char32_t code = 0;
  std::size_t length = 0;  // 0: not UTF-8 here
};

// Strict UTF-8 (RFC 3629): no overlong forms, no surrogates, at most U+10FFFF.
Decoded DecodeAt(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) {
    return {lead, 1};
  }
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || at + length > text.size()) {
    return {};
  }
  char32_t code = lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[at + i]);
    if ((next & 0xC0U) != 0x80U) {
      return {};
    }
    code = (code << 6U) | (next & 0x3FU);
  }
  constexpr std::array<char32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kSmallest[length] || surrogate || code > 0x10FFFF) {
    return {};
  }
  return {code, length};
}

// Characters that move the cursor, reorder what is read, or may not stand in XML 1.0.
bool IsUnsafe(char32_t code) {
  const bool control = code < 0x20 || (code >= 0x7F && code <= 0x9F);
  const bool direction = (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) ||
                         code == 0x200E || code == 0x200F || code == 0x061C;
  const bool separator = code == 0x2028 || code == 0x2029;
  const bool noncharacter = (code & 0xFFFEU) == 0xFFFEU || (code >= 0xFDD0 && code <= 0xFDEF);
  return control || direction || separator || noncharacter;
}

std::string EscapeOf(char32_t code) {
  switch (code) {
    case U'\n':
      return "\\n";
    case U'\r':
      return "\\r";
    case U'\t':
      return "\\t";
    default:
      return code < 0x100 ? fmt::format("\\x{:02x}", static_cast<unsigned>(code))
                          : fmt::format("\\u{{{:04x}}}", static_cast<unsigned>(code));
  }
}

std::string_view LayerWords(Layer layer) {
  switch (layer) {
    case Layer::kD0:
      return "the restart itself";
    case Layer::kD1:
      return "state in the checkpoint and after the load";
    case Layer::kD2:
      return "data order";
    case Layer::kD3:
      return "random numbers and first loss";
    case Layer::kD4:
      return "schedule and counters";
    case Layer::kD5:
      return "state after the step";
    case Layer::kD6:
      return "the rest of the run";
  }
  return "";
}

std::string StepText(std::int64_t step) { return step < 0 ? "unknown" : std::to_string(step); }

std::string JoinConsequences(const std::vector<std::string>& consequences) {
  constexpr std::size_t kShown = 4;
  const std::size_t shown = std::min(kShown, consequences.size());
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < shown; ++i) {
    parts.push_back(Shorten(EscapeControls(consequences[i]), kMaxValueBytes / kShown));
  }
  if (consequences.size() > shown) {
    parts.push_back(fmt::format("{} more", consequences.size() - shown));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

std::string EscapeControls(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Decoded character = DecodeAt(text, at);
    if (character.length == 0) {
      escaped += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at]));
      ++at;
      continue;
    }
    if (IsUnsafe(character.code)) {
      escaped += EscapeOf(character.code);
    } else {
      escaped += text.substr(at, character.length);
    }
    at += character.length;
  }
  return escaped;
}

std::string Shorten(const std::string& text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) {
    return text;
  }
  std::size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
    --end;
  }
  return text.substr(0, end) + " …";
}

std::string ForReading(std::string_view text) {
  // An escape is at most ten times its source, so the rest need not be looked at.
  return Shorten(EscapeControls(text.substr(0, kMaxValueBytes + 4)), kMaxValueBytes);
}

std::string FaultKinds(const Case& the_case) {
  std::vector<std::string> kinds;
  for (const Fault& fault : the_case.faults) {
    kinds.push_back(fault.kind);
  }
  return FaultKinds(kinds);
}

std::string FaultKinds(const std::vector<std::string>& kinds) {
  return kinds.empty() ? "no fault" : EscapeControls(fmt::format("{}", fmt::join(kinds, " + ")));
}

std::string FaultText(const Case& the_case) {
  std::vector<std::string> parts;
  for (const Fault& fault : the_case.faults) {
    std::string part = EscapeControls(fault.kind);
    if (fault.attempt > 0) {
      part += fmt::format(" attempt={}", fault.attempt);
    }
    for (const auto& [name, value] : fault.params) {
      part += fmt::format(" {}={}", EscapeControls(name), ForReading(value));
    }
    parts.push_back(std::move(part));
  }
  return parts.empty() ? "no fault" : fmt::format("{}", fmt::join(parts, " + "));
}

std::string WorldText(const std::vector<int>& world) {
  return fmt::format("{}", fmt::join(world, ">"));
}

std::string DivergenceText(const Divergence& divergence) {
  std::string text = fmt::format("{} ({}), step {}", ToText(divergence.layer),
                                 LayerWords(divergence.layer), divergence.step);
  if (divergence.rank >= 0) {
    text += fmt::format(", rank {}", divergence.rank);
  }
  return text + ": " + ForReading(divergence.name);
}

std::string Count(std::size_t count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::vector<std::pair<std::string, std::string>> CaseFacts(const CaseReport& report) {
  const Outcome& outcome = report.outcome;
  std::vector<std::pair<std::string, std::string>> facts;
  const auto add = [&facts](const char* label, std::string value) {
    if (!value.empty()) {
      facts.emplace_back(label, std::move(value));
    }
  };
  add("replay", EscapeControls(report.replay));
  add("case", fmt::format("{}: {}, world {}", EscapeControls(report.the_case.id),
                          FaultText(report.the_case), WorldText(report.the_case.world)));
  for (const std::string& fired : report.fired) {
    add("fault", ForReading(fired));
  }
  add("verdict", std::string(ToText(outcome.verdict)));
  add("why", ForReading(outcome.why));
  if (outcome.restored_step >= 0 || outcome.expected_step >= 0) {
    add("restored", fmt::format("step {} (expected {}, {} lost)", StepText(outcome.restored_step),
                                StepText(outcome.expected_step), outcome.lost_steps));
  }
  if (outcome.divergence) {
    add("first at", DivergenceText(*outcome.divergence));
    add("expected", ForReading(outcome.divergence->expected));
    add("actual", ForReading(outcome.divergence->actual));
    add("detail", ForReading(outcome.divergence->detail));
  }
  add("cause", ForReading(outcome.cause));
  // Where no rule is certain, the evidence is the detail once more.
  const bool is_said = outcome.divergence && outcome.divergence->detail == outcome.evidence;
  add("evidence", is_said ? "" : ForReading(outcome.evidence));
  add("again", ForReading(report.confirmation));
  add("then", JoinConsequences(outcome.consequences));
  // That a finding is not expected where nothing is says nothing new.
  const bool is_obvious = !report.expect && IsFinding(outcome.verdict);
  add("unmet", is_obvious ? "" : ForReading(report.unmet_why));
  return facts;
}

Attention AttentionOf(const CaseReport& report) {
  const Verdict verdict = report.outcome.verdict;
  if (verdict == Verdict::kHarnessError) {
    return Attention::kOurError;
  }
  if (report.accepted) {
    return Attention::kAccepted;
  }
  if (ProvedNothing(verdict) && !report.expect) {
    return Attention::kUnproven;
  }
  if (!report.met) {
    return Attention::kUnmet;
  }
  return IsFinding(verdict) ? Attention::kExpected : Attention::kNone;
}

std::map<std::string, const CaseReport*> CasesById(const Report& report) {
  std::map<std::string, const CaseReport*> index;
  for (const CaseReport& the_case : report.cases) {
    index.emplace(the_case.the_case.id, &the_case);
  }
  return index;
}

std::vector<const Finding*> FindingsToRead(const Report& report) {
  std::vector<const Finding*> findings;
  for (const Finding& finding : report.findings) {
    findings.push_back(&finding);
  }
  const auto place = [](const Finding& finding) {
    return finding.expected ? 2 : finding.accepted ? 1 : 0;
  };
  std::stable_sort(findings.begin(), findings.end(),
                   [&](const Finding* a, const Finding* b) { return place(*a) < place(*b); });
  return findings;
}

namespace {

std::string ComparisonWords(const Report& report) {
  const Comparison& comparison = *report.comparison;
  const std::string against = " against " + ForReading(comparison.earlier);
  switch (report.exit_status) {
    case 0:
      return "exit 0: no regression" + against;
    case 1:
      return fmt::format("exit 1: {}{}", Count(comparison.regressions.size(), "regression"),
                         against);
    case 3:
      return "exit 3: no regression so far, but a run did not finish";
    case 4:
      return "exit 4: no case in common" + against;
    default:
      return fmt::format("exit {}", report.exit_status);
  }
}

}  // namespace

std::string CaseList(const std::vector<std::string>& ids, std::size_t shown_count, ShowText show) {
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(shown_count, ids.size()); ++i) {
    shown.push_back(show(ids[i]));
  }
  const std::string text = fmt::format("{}: {}", Count(ids.size(), "case"), fmt::join(shown, ", "));
  return ids.size() > shown.size() ? text + fmt::format(" and {} more", ids.size() - shown.size())
                                   : text;
}

std::string FindingRemark(const Finding& finding, ShowText show) {
  if (finding.expected) {
    return " (expected)";
  }
  return finding.accepted ? fmt::format(" (accepted {}: {})", show(finding.accepted->date),
                                        show(finding.accepted->reason))
                          : "";
}

std::string ExitWords(const Report& report) {
  if (report.comparison) {
    return ComparisonWords(report);
  }
  std::size_t unmet = 0;
  std::size_t unmet_findings = 0;
  std::size_t accepted = 0;
  for (const CaseReport& the_case : report.cases) {
    accepted += the_case.accepted ? 1 : 0;
    if (!the_case.met && !the_case.accepted && the_case.outcome.verdict != Verdict::kHarnessError) {
      ++unmet;
      unmet_findings += IsFinding(the_case.outcome.verdict) ? 1 : 0;
    }
  }
  switch (report.exit_status) {
    case 0:
      return accepted == 0 ? "exit 0: every case ended as it must"
                           : fmt::format(
                                 "exit 0: every case ended as it must, but for {} of "
                                 "accepted findings",
                                 Count(accepted, "case"));
    case 1:
      return fmt::format("exit 1: {} did not end as expected ({} of them {})", Count(unmet, "case"),
                         unmet_findings, unmet_findings == 1 ? "a finding" : "findings");
    case 3:
      return "exit 3: reprise itself failed in some cases (harness-error); no finding";
    case 4:
      return "exit 4: nothing was judged, or a fault that a scenario demands did not fire";
    default:
      return fmt::format("exit {}", report.exit_status);
  }
}

}  // namespace reprise
