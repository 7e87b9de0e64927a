// The environment of a rank: inherited, the target's own, then what torchrun gives and what the
// probes read; and the port at which the ranks meet.

#ifndef REPRISE_HARNESS_PROCESS_RANK_ENVIRONMENT_H_
#define REPRISE_HARNESS_PROCESS_RANK_ENVIRONMENT_H_

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/base/unique_fd.h"

namespace reprise {

using Environment = std::map<std::string, std::string>;

// A TCP port of 127.0.0.1 that no other process is given while this object lives: bound with
// SO_REUSEADDR and never listening, so that a target that sets SO_REUSEADDR too (TCPStore does) can
// listen on it.
class ReservedPort {
 public:
  static Result<ReservedPort> Reserve();
  [[nodiscard]] int Number() const { return number_; }

 private:
  UniqueFd socket_;
  int number_ = 0;
};

struct RankPlace {
  int rank = 0;
  int world = 1;
  int port = 0;
  int attempt = 0;
  std::filesystem::path logbook_folder;
};

// The inherited environment with `extra` over it, and OMP_NUM_THREADS=1 unless set. Variables of a
// fork server are not inherited.
Environment BaseEnvironment(const Environment& extra);

// What a rank adds to it. PYTHONHASHSEED differs from attempt to attempt unless it is set.
Environment RankEnvironment(Environment base, const RankPlace& place);

// "KEY=VALUE" for each variable.
std::vector<std::string> EnvironmentTexts(const Environment& environment);

// The variables that libraries read when they are loaded: two attempts that differ in one of them
// cannot share a fork server (facts: OMP_*, MALLOC_*, LD_* … have no effect in a forked child).
std::string LoadTimeKey(const std::string& program, const Environment& environment);

}  // namespace reprise

#endif  // REPRISE_HARNESS_PROCESS_RANK_ENVIRONMENT_H_
