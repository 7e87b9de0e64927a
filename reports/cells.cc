// The restore-capability matrix as data; see cells.h.

#include "reports/cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace reprise {
namespace {

int SeverityOf(Verdict verdict) {
  constexpr int kStep = 100;
  const int order = static_cast<int>(verdict);
  if (verdict == Verdict::kHarnessError) {
    return 3 * kStep + order;
  }
  if (IsFinding(verdict)) {
    return 2 * kStep + order;
  }
  return ProvedNothing(verdict) ? kStep + order : order;
}

std::vector<std::string> KindsOf(const Case& the_case) {
  std::vector<std::string> kinds;
  for (const Fault& fault : the_case.faults) {
    kinds.push_back(fault.kind);
  }
  return kinds;
}

void AddCase(const CaseReport& report, Cell* cell) {
  const Outcome& outcome = report.outcome;
  cell->worst = cell->verdicts.empty() ? outcome.verdict : WorseOf(cell->worst, outcome.verdict);
  ++cell->verdicts[outcome.verdict];
  if (outcome.restored_step >= 0) {
    cell->lost_steps.push_back(static_cast<double>(outcome.lost_steps));
  }
  if (outcome.recovery_s > 0) {
    cell->recovery_s.push_back(outcome.recovery_s);
  }
  if (EndsWithDamage(report.the_case)) {
    cell->damage.Add(report);
  }
}

}  // namespace

void DamageCounts::Add(const CaseReport& report) {
  switch (report.outcome.verdict) {
    case Verdict::kRefused:
    case Verdict::kRefusedWrongly:
      ++refused;
      break;
    case Verdict::kExactFallback:
    case Verdict::kLostProgress:
      ++fell_back;
      break;
    case Verdict::kExact:
    case Verdict::kWithinNoise:
      ++loaded_exact;
      break;
    case Verdict::kDiverged:
    case Verdict::kShort:
    case Verdict::kOverrun:
      ++loaded_changed;
      break;
    case Verdict::kSilentRestart:
    case Verdict::kCheckpointLost:
    case Verdict::kCrashed:
    case Verdict::kHung:
      ++other;
      break;
    case Verdict::kNotExercised:
    case Verdict::kCannotJudge:
    case Verdict::kUnsupported:
    case Verdict::kHarnessError:
      break;
  }
}

// E. B. Wilson, "Probable inference, the law of succession, and statistical inference", Journal of
// the American Statistical Association 22 (1927), 209–212. Unlike the normal approximation it says
// something about a rate of which nothing was seen.
Interval WilsonInterval(int hits, int trials) {
  if (trials == 0) {
    return {};
  }
  constexpr double kZ = 1.959963984540054;  // of 95 %
  const double n = trials;
  const double p = hits / n;
  const double middle = p + kZ * kZ / (2 * n);
  const double half = kZ * std::sqrt(p * (1 - p) / n + kZ * kZ / (4 * n * n));
  const double scale = 1 + kZ * kZ / n;
  return {std::max(0.0, (middle - half) / scale), std::min(1.0, (middle + half) / scale)};
}

std::vector<Cell> CellsOf(const Report& report) {
  std::vector<Cell> cells;
  std::map<std::tuple<std::string, std::vector<std::string>, std::vector<int>, std::string>,
           std::size_t>
      places;
  for (const CaseReport& item : report.cases) {
    const Case& the_case = item.the_case;
    const auto [place, is_new] = places.try_emplace(
        {the_case.target, KindsOf(the_case), the_case.world, the_case.save_mode}, cells.size());
    if (is_new) {
      Cell& cell = cells.emplace_back();
      std::tie(cell.target, cell.faults, cell.world, cell.save_mode) = place->first;
    }
    AddCase(item, &cells[place->second]);
  }
  for (Cell& cell : cells) {
    std::sort(cell.lost_steps.begin(), cell.lost_steps.end());
    std::sort(cell.recovery_s.begin(), cell.recovery_s.end());
  }
  return cells;
}

DamageCounts DamageOf(const Report& report) {
  DamageCounts counts;
  for (const CaseReport& item : report.cases) {
    if (EndsWithDamage(item.the_case)) {
      counts.Add(item);
    }
  }
  return counts;
}

bool EndsWithDamage(const Case& the_case) {
  return !the_case.faults.empty() && the_case.faults.back().kind.starts_with("damage.");
}

Verdict WorseOf(Verdict a, Verdict b) { return SeverityOf(b) > SeverityOf(a) ? b : a; }

std::string DamageText(const DamageCounts& counts) {
  const int judged = counts.Judged();
  if (judged == 0) {
    return "";
  }
  const Interval interval = WilsonInterval(counts.loaded_changed, judged);
  std::string text = fmt::format(
      "damage: {} judged: {} refused, {} fell back, {} loaded and exact, "
      "{} loaded and changed",
      judged, counts.refused, counts.fell_back, counts.loaded_exact, counts.loaded_changed);
  text += counts.other > 0 ? fmt::format(", {} otherwise", counts.other) : "";
  return text + fmt::format("; silent acceptance {:.1f} % (95 % interval {:.1f} to {:.1f} %)",
                            100.0 * counts.loaded_changed / judged, 100 * interval.low,
                            100 * interval.high);
}

}  // namespace reprise
