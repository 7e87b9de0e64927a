// Groups cases by root cause; see findings.h.

#include "harness/judge/findings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "harness/base/content_id.h"

namespace reprise {
namespace {

constexpr std::size_t kFingerprintLength = 12;

// Kinds of all faults of the case; a place in the operation log counts by its role, not its number.
std::string FaultKinds(const Case& the_case) {
  std::vector<std::string> kinds;
  for (const Fault& fault : the_case.faults) {
    kinds.push_back(fault.kind);
  }
  return kinds.empty() ? "no fault" : fmt::format("{}", fmt::join(kinds, "+"));
}

std::string WithoutDigits(std::string text) {
  std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
  return text;
}

// What is common to all cases of a finding. Where no rule is certain, the place of the first
// difference stands for the cause.
std::string RootOf(const Outcome& outcome) {
  if (!outcome.cause.empty()) {
    return outcome.cause;
  }
  std::string root(ToText(outcome.verdict));
  if (outcome.divergence) {
    root += fmt::format("|{}|{}", ToText(outcome.divergence->layer),
                        WithoutDigits(outcome.divergence->name));
  }
  return root;
}

// Without the verdict, which stands beside it.
std::string Title(const CaseReport& report) {
  const Outcome& outcome = report.outcome;
  std::string title = outcome.cause.empty() ? outcome.why : outcome.cause;
  if (outcome.cause.empty() && outcome.divergence) {
    title = fmt::format("first at {}, step {}, {}", ToText(outcome.divergence->layer),
                        outcome.divergence->step, outcome.divergence->name);
  }
  if (outcome.verdict == Verdict::kLostProgress && outcome.lost_steps > 0) {
    title += fmt::format("; costs {} step{} in the simplest case", outcome.lost_steps,
                         outcome.lost_steps == 1 ? "" : "s");
  }
  return title + fmt::format(" ({})", FaultKinds(report.the_case));
}

// A cause that was found is one root, whatever kinds of fault show it; without one, another kind of
// fault may well be another root. Two targets never share a root.
std::string GroupOf(const CaseReport& report) {
  const Outcome& outcome = report.outcome;
  return report.the_case.target + "|" + RootOf(outcome) +
         (outcome.cause.empty() ? "|" + FaultKinds(report.the_case) : "");
}

bool ExpectsFinding(const CaseReport& report) {
  if (!report.expect) {
    return false;
  }
  const std::vector<Verdict>& verdicts = report.expect->verdicts;
  return std::any_of(verdicts.begin(), verdicts.end(), IsFinding);
}

// Few faults, few restarts, few ranks, then the order of the plan.
bool IsSimpler(const CaseReport& a, const CaseReport& b) {
  const auto ranks = [](const Case& the_case) {
    int sum = 0;
    for (const int world : the_case.world) {
      sum += world;
    }
    return sum;
  };
  const auto size = [&](const Case& the_case) {
    return std::tuple(the_case.faults.size(), the_case.world.size(), ranks(the_case));
  };
  return size(a.the_case) < size(b.the_case);
}

Finding MakeFinding(std::vector<const CaseReport*> cases) {
  std::stable_sort(cases.begin(), cases.end(),
                   [](const CaseReport* a, const CaseReport* b) { return IsSimpler(*a, *b); });
  const CaseReport& first = *cases.front();
  Finding finding;
  finding.fingerprint = ContentId(fmt::format("{}|{}|{}", first.the_case.target,
                                              RootOf(first.outcome), FaultKinds(first.the_case)))
                            .substr(0, kFingerprintLength);
  finding.cause = first.outcome.cause;
  finding.verdict = first.outcome.verdict;
  finding.title = Title(first);
  finding.why = first.outcome.evidence.empty() ? first.outcome.why : first.outcome.evidence;
  finding.expected = true;
  for (const CaseReport* report : cases) {
    finding.cases.push_back(report->the_case.id);
    finding.expected = finding.expected && report->met && ExpectsFinding(*report);
  }
  return finding;
}

// A finished run started again is added to every plan: where a scenario demands more, that case
// alone is no reason to say that something was judged.
bool IsDemanded(const CaseReport& item) { return !item.the_case.IsFinishedAgain(); }

int ExitStatus(const Report& report) {
  bool has_error = false;
  bool has_unfired = false;
  bool has_judged = false;
  const bool demands_more = std::any_of(report.cases.begin(), report.cases.end(), IsDemanded);
  for (const CaseReport& item : report.cases) {
    const Verdict verdict = item.outcome.verdict;
    const bool missing_finding = !item.met && ExpectsFinding(item);
    if (missing_finding || (!item.met && !item.accepted && IsFinding(verdict))) {
      return 1;
    }
    has_error |= verdict == Verdict::kHarnessError;
    has_unfired |= verdict == Verdict::kNotExercised && !item.met;
    has_judged |= verdict != Verdict::kHarnessError && !ProvedNothing(verdict) &&
                  (!demands_more || IsDemanded(item));
    if (!item.met && !item.accepted && !ProvedNothing(verdict) &&
        verdict != Verdict::kHarnessError) {
      return 1;  // no finding, and not what the scenario expects
    }
  }
  if (has_error) {
    return 3;
  }
  return !has_judged || has_unfired ? 4 : 0;
}

bool Unmet(std::string* why_not, std::string text) {
  if (why_not != nullptr) {
    *why_not = std::move(text);
  }
  return false;
}

bool MeetsVerdict(const Outcome& outcome, const Expectation& expect, std::string* why_not) {
  if (expect.verdicts.empty()) {
    return !IsFinding(outcome.verdict) && outcome.verdict != Verdict::kHarnessError
               ? true
               : Unmet(why_not, fmt::format("expected no finding, got {}: {}",
                                            ToText(outcome.verdict), outcome.why));
  }
  if (std::find(expect.verdicts.begin(), expect.verdicts.end(), outcome.verdict) !=
      expect.verdicts.end()) {
    return true;
  }
  std::vector<std::string_view> words;
  for (const Verdict verdict : expect.verdicts) {
    words.push_back(ToText(verdict));
  }
  return Unmet(why_not, fmt::format("expected {}, got {}: {}", fmt::join(words, " or "),
                                    ToText(outcome.verdict), outcome.why));
}

}  // namespace

bool MeetsExpectation(const Outcome& outcome, const std::optional<Expectation>& expectation,
                      std::string* why_not) {
  if (!expectation) {
    if (outcome.verdict == Verdict::kNotExercised) {
      return Unmet(why_not, "the fault did not fire: " + outcome.why);
    }
    return MeetsVerdict(outcome, Expectation{}, why_not);
  }
  if (!MeetsVerdict(outcome, *expectation, why_not)) {
    return false;
  }
  if (!expectation->cause.empty() && expectation->cause != outcome.cause) {
    return Unmet(why_not, fmt::format("expected the cause \"{}\", got \"{}\"", expectation->cause,
                                      outcome.cause));
  }
  const auto& where = outcome.divergence;
  if (!where && (expectation->layer || expectation->step || !expectation->name.empty())) {
    return Unmet(why_not, "expected a divergence, got none");
  }
  if (expectation->layer && *expectation->layer != where->layer) {
    return Unmet(why_not, fmt::format("expected the first difference in {}, got {}",
                                      ToText(*expectation->layer), ToText(where->layer)));
  }
  if (expectation->step && *expectation->step != where->step) {
    return Unmet(why_not, fmt::format("expected the first difference at step {}, got {}",
                                      *expectation->step, where->step));
  }
  if (!expectation->name.empty() && expectation->name != where->name) {
    return Unmet(why_not, fmt::format("expected the first difference in \"{}\", got \"{}\"",
                                      expectation->name, where->name));
  }
  return true;
}

void Summarise(Report* report) {
  report->summary.clear();
  report->findings.clear();
  report->notes.clear();
  std::vector<std::vector<const CaseReport*>> groups;  // in the order of the plan
  std::map<std::string, std::size_t> place_of_group;
  for (CaseReport& item : report->cases) {
    ++report->summary[std::string(ToText(item.outcome.verdict))];
    item.unmet_why.clear();
    item.accepted = false;
    item.met = MeetsExpectation(item.outcome, item.expect, &item.unmet_why);
    if (!IsFinding(item.outcome.verdict)) {
      continue;
    }
    const auto [at, is_new] = place_of_group.try_emplace(GroupOf(item), groups.size());
    if (is_new) {
      groups.emplace_back();
    }
    groups[at->second].push_back(&item);
  }
  for (auto& cases : groups) {
    report->findings.push_back(MakeFinding(std::move(cases)));
  }
  report->exit_status = ExitStatus(*report);
}

void Accept(const std::vector<Acceptance>& accepted, Report* report) {
  std::set<std::string> ids;
  for (const Acceptance& entry : accepted) {
    const auto found = std::find_if(
        report->findings.begin(), report->findings.end(),
        [&](const Finding& finding) { return finding.fingerprint == entry.fingerprint; });
    if (found == report->findings.end()) {
      report->notes.push_back(fmt::format("the accepted finding {} was not seen: {} ({})",
                                          entry.fingerprint, entry.reason, entry.date));
    } else if (found->expected) {
      report->notes.push_back(fmt::format(
          "the accepted finding {} is expected by its scenario anyway", entry.fingerprint));
    } else {
      found->accepted = entry;
      ids.insert(found->cases.begin(), found->cases.end());
    }
  }
  for (CaseReport& item : report->cases) {
    item.accepted = !item.met && ids.contains(item.the_case.id);
  }
  report->exit_status = ExitStatus(*report);
}

}  // namespace reprise
