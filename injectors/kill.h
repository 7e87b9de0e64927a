// What the kills have in common: victims and their wording.

#ifndef REPRISE_INJECTORS_KILL_H_
#define REPRISE_INJECTORS_KILL_H_

#include <cstdint>
#include <string>

#include "injectors/injector.h"

namespace reprise {

// 3 of "rank:3". REQUIRES: such a text, as a validated parameter is.
std::int64_t NumberAfterColon(const std::string& text);

// Who gets SIGKILL.
class Victim {
 public:
  static Victim All() { return Victim(-1); }
  static Victim Rank(int rank) { return Victim(rank); }

  [[nodiscard]] Action Kill(CutPoint cut = {}) const {
    return rank_ < 0 ? Action::KillAllRanks(cut) : Action::KillOneRank(rank_, cut);
  }
  // "SIGKILL to all ranks", "SIGKILL to rank 1"
  [[nodiscard]] std::string ToText() const {
    return rank_ < 0 ? "SIGKILL to all ranks" : "SIGKILL to rank " + std::to_string(rank_);
  }

 private:
  explicit Victim(int rank) : rank_(rank) {}

  int rank_;  // -1: all
};

}  // namespace reprise

#endif  // REPRISE_INJECTORS_KILL_H_
