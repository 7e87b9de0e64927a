// The restore-capability matrix as data: one cell for each kind of fault, pair of world sizes and
// save mode, and what damage came to. Pure; every writer shows the same figures.

#ifndef REPRISE_REPORTS_CELLS_H_
#define REPRISE_REPORTS_CELLS_H_

#include <map>
#include <string>
#include <vector>

#include "harness/model/report.h"

namespace reprise {

// What became of damaged checkpoints. Cases that proved nothing are not counted.
struct DamageCounts {
  int refused = 0;         // ended with an error, whether it named the damage or not
  int fell_back = 0;       // used an older checkpoint
  int loaded_exact = 0;    // harmless: the same run
  int loaded_changed = 0;  // resumed without an error, and it is another run: the costly one
  int other = 0;           // began from scratch, crashed, hung, or lost what it had

  void Add(const CaseReport& report);
  [[nodiscard]] int Judged() const {
    return refused + fell_back + loaded_exact + loaded_changed + other;
  }
};

struct Interval {
  double low = 0;
  double high = 1;
};

// The 95 % interval of a rate of which `hits` of `trials` were seen; [0, 1] without trials.
// REQUIRES: 0 <= hits <= trials.
Interval WilsonInterval(int hits, int trials);

struct Cell {
  std::string target;
  std::vector<std::string> faults;  // kinds, in order; empty: no fault
  std::vector<int> world;
  std::string save_mode;
  std::map<Verdict, int> verdicts;
  Verdict worst = Verdict::kExact;
  std::vector<double> lost_steps;  // of each case that restored something, ascending
  std::vector<double> recovery_s;  // of each case that became ready, ascending
  DamageCounts damage;
};

// In the order of the plan: a cell stands where its first case does.
std::vector<Cell> CellsOf(const Report& report);

// All cases with damage together.
DamageCounts DamageOf(const Report& report);

// Whether the last fault, which decides what the restart finds, is a damage.
bool EndsWithDamage(const Case& the_case);

// Of two verdicts, the one that a reader must see.
Verdict WorseOf(Verdict a, Verdict b);

// "damage: 24 judged: 3 refused, 20 fell back, …; silent acceptance 0.0 % (95 % interval 0.0 to
// 13.8 %)"; empty without such a case.
std::string DamageText(const DamageCounts& counts);

}  // namespace reprise

#endif  // REPRISE_REPORTS_CELLS_H_
