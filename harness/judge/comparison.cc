// Compares two reports, case by case; see findings.h.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "harness/judge/findings.h"

namespace reprise {
namespace {

enum class Standing { kRight, kOpen, kAccepted, kWrong };

Standing StandingOf(const CaseReport& item) {
  const Verdict verdict = item.outcome.verdict;
  if (item.accepted) {
    return Standing::kAccepted;
  }
  if (verdict == Verdict::kHarnessError || ProvedNothing(verdict)) {
    return Standing::kOpen;
  }
  return item.met ? Standing::kRight : Standing::kWrong;
}

// "diverged: optimizer.moments: not stored"; without a cause, the place of the first difference.
std::string Describe(const CaseReport& item) {
  const Outcome& outcome = item.outcome;
  std::string text(ToText(outcome.verdict));
  if (!outcome.cause.empty()) {
    text += ": " + outcome.cause;
  } else if (outcome.divergence) {
    text += fmt::format(": first at {}, {}", ToText(outcome.divergence->layer),
                        outcome.divergence->name);
  }
  return text + (item.accepted ? " (accepted)" : "");
}

// The fingerprints of a report, by case and as a set.
struct Fingerprints {
  explicit Fingerprints(const Report& report) {
    for (const Finding& finding : report.findings) {
      all.insert(finding.fingerprint);
      for (const std::string& id : finding.cases) {
        by_case[id] = finding.fingerprint;
      }
    }
  }
  [[nodiscard]] std::string Of(const std::string& id) const {
    const auto found = by_case.find(id);
    return found == by_case.end() ? "" : found->second;
  }

  std::set<std::string> all;
  std::map<std::string, std::string> by_case;
};

// Adds the case to the change that it shares with others.
void Add(const std::string& fingerprint, const std::string& before, const CaseReport& later,
         std::vector<Change>* changes) {
  const std::string after = Describe(later);
  const auto same = [&](const Change& change) {
    return std::tie(change.fingerprint, change.before, change.after) ==
           std::tie(fingerprint, before, after);
  };
  auto found = std::find_if(changes->begin(), changes->end(), same);
  if (found == changes->end()) {
    changes->push_back({fingerprint, before, after, {}, later.replay});
    found = std::prev(changes->end());
  }
  found->cases.push_back(later.the_case.id);
}

class Comparer {
 public:
  Comparer(const Report& earlier, const Report& later) : earlier_(earlier), later_(later) {
    result_.earlier = earlier.run_directory;
    for (const CaseReport& item : earlier.cases) {
      before_[item.the_case.id] = &item;
    }
    for (const CaseReport& item : later.cases) {
      const auto found = before_.find(item.the_case.id);
      if (found == before_.end()) {
        Appeared(item);
      } else {
        Stayed(*found->second, item);
        before_.erase(found);
      }
    }
    for (const CaseReport& item : earlier.cases) {
      if (before_.contains(item.the_case.id)) {
        result_.gone.push_back(item.the_case.id);
      }
    }
  }

  [[nodiscard]] Comparison Take() { return std::move(result_); }

 private:
  void Appeared(const CaseReport& item) {
    const std::string fingerprint = later_.Of(item.the_case.id);
    if (StandingOf(item) == Standing::kWrong && !earlier_.all.contains(fingerprint)) {
      Add(fingerprint, "not in the plan", item, &result_.regressions);
    } else if (StandingOf(item) == Standing::kWrong) {
      Add(fingerprint, "not in the plan", item, &result_.changed);
    }
  }

  void Stayed(const CaseReport& before, const CaseReport& after) {
    ++result_.shared_count;
    const std::string was = Describe(before);
    const Standing from = StandingOf(before);
    const Standing to = StandingOf(after);
    if (from == to && was == Describe(after)) {
      ++result_.same_count;
      return;
    }
    const std::string& id = after.the_case.id;
    const std::string now = later_.Of(id);
    const std::string fingerprint = now.empty() ? earlier_.Of(id) : now;
    const bool regressed = (from == Standing::kRight && to == Standing::kOpen) ||
                           (from != Standing::kWrong && to == Standing::kWrong);
    const bool fixed =
        to == Standing::kRight && (from == Standing::kWrong || from == Standing::kAccepted);
    Add(fingerprint, was, after,
        regressed ? &result_.regressions
        : fixed   ? &result_.fixed
                  : &result_.changed);
  }

  Fingerprints earlier_;
  Fingerprints later_;
  std::map<std::string, const CaseReport*> before_;
  Comparison result_;
};

}  // namespace

Comparison CompareReports(const Report& earlier, const Report& later) {
  return Comparer(earlier, later).Take();
}

int ExitStatusOf(const Comparison& comparison) {
  if (!comparison.regressions.empty()) {
    return 1;
  }
  return comparison.shared_count == 0 ? 4 : 0;
}

}  // namespace reprise
