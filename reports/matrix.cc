// The matrix of the console report; see matrix.h.

#include "reports/matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "reports/cells.h"
#include "reports/text.h"

namespace reprise {
namespace {

struct Row {
  std::map<std::vector<int>, Verdict> cells;  // by world sizes
  int case_count = 0;
};

struct Matrix {
  std::set<std::vector<int>> worlds;
  std::map<std::string, Row> rows;  // by kind of fault
  std::set<Verdict> shown;
};

// Targets and save modes share a row.
Matrix MakeMatrix(const Report& report) {
  Matrix matrix;
  for (const Cell& cell : CellsOf(report)) {
    Row& row = matrix.rows[FaultKinds(cell.faults)];
    const auto [place, is_new] = row.cells.emplace(cell.world, cell.worst);
    place->second = WorseOf(place->second, cell.worst);
    matrix.worlds.insert(cell.world);
    for (const auto& [verdict, count] : cell.verdicts) {
      row.case_count += count;
    }
  }
  for (const auto& [kind, row] : matrix.rows) {
    for (const auto& [world, verdict] : row.cells) {
      matrix.shown.insert(verdict);
    }
  }
  return matrix;
}

std::string Legend(const std::set<Verdict>& shown) {
  std::string legend = "  worst in each cell:";
  for (const Verdict verdict : shown) {
    legend += fmt::format("  {} {}", MarkOf(verdict), ToText(verdict));
  }
  return legend + "\n";
}

}  // namespace

char MarkOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kExact:
      return '=';
    case Verdict::kExactFallback:
      return '~';
    case Verdict::kRefused:
      return 'r';
    case Verdict::kWithinNoise:
      return 'n';
    case Verdict::kLostProgress:
      return 'P';
    case Verdict::kRefusedWrongly:
      return 'W';
    case Verdict::kSilentRestart:
      return 'S';
    case Verdict::kCheckpointLost:
      return 'L';
    case Verdict::kDiverged:
      return 'D';
    case Verdict::kShort:
      return '<';
    case Verdict::kOverrun:
      return '>';
    case Verdict::kCrashed:
      return 'C';
    case Verdict::kHung:
      return 'H';
    case Verdict::kNotExercised:
      return 'o';
    case Verdict::kCannotJudge:
      return '?';
    case Verdict::kUnsupported:
      return 'u';
    case Verdict::kHarnessError:
      return '!';
  }
  return ' ';
}

std::string MatrixText(const Report& report) {
  if (report.cases.empty()) {
    return "";
  }
  const Matrix matrix = MakeMatrix(report);
  std::size_t label_width = std::string_view("fault \\ world").size();
  for (const auto& [kind, row] : matrix.rows) {
    label_width = std::max(label_width, kind.size());
  }
  std::string head = fmt::format("  {:<{}}", "fault \\ world", label_width);
  for (const std::vector<int>& world : matrix.worlds) {
    head += " " + WorldText(world);
  }
  std::string text = head + "  cases\n";
  for (const auto& [kind, row] : matrix.rows) {
    text += fmt::format("  {:<{}}", kind, label_width);
    for (const std::vector<int>& world : matrix.worlds) {
      const auto cell = row.cells.find(world);
      const char mark = cell == row.cells.end() ? ' ' : MarkOf(cell->second);
      text += fmt::format(" {:^{}}", mark, WorldText(world).size());
    }
    text += fmt::format("  {:>5}\n", row.case_count);
  }
  return text + Legend(matrix.shown);
}

}  // namespace reprise
