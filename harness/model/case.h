// Target and case: what is run.

#ifndef REPRISE_HARNESS_MODEL_CASE_H_
#define REPRISE_HARNESS_MODEL_CASE_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/model/fault.h"

namespace reprise {

// The training program under test.
struct Target {
  std::string id;
  // Template: {ckpt} {rank} {world} {steps} {seed} {attempt} {device} are replaced in every
  // argument, {models} by the folder of our reference trainings.
  std::vector<std::string> command;
  std::string format;  // name of a checkpoint format, or empty
  std::int64_t steps = 0;
  std::int64_t seed = 1;
  bool fork_server = false;      // the command answers REPRISE_FORK_SERVER (probes/c/fork_server.h)
  bool world_invariant = false;  // the trajectory is declared bit-equal at any world size
  std::map<std::string, std::string> environment;
};

// One execution of a plan: life at world[0], the faults, then one restart at each further world
// size. With one world size and no fault it is the uninterrupted run.
struct Case {
  std::string id;  // stable: same scenario and seed, same id
  std::string scenario;
  std::string target;  // Target::id
  std::vector<Fault> faults;
  std::vector<int> world;
  // World size of the reference run that it is compared with: that of the first life; of
  // uninterrupted runs, the first world size of their entry in the scenario.
  int reference_world = 1;
  std::string save_mode = "sync";

  // A finished run that is started again: two attempts, nothing done to either.
  [[nodiscard]] bool IsFinishedAgain() const { return faults.empty() && world.size() == 2; }
};

}  // namespace reprise

#endif  // REPRISE_HARNESS_MODEL_CASE_H_
