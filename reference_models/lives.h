// For tests: starts lives of a training, and reads from its logbooks what must not differ.

#ifndef REPRISE_REFERENCE_MODELS_LIVES_H_
#define REPRISE_REFERENCE_MODELS_LIVES_H_

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/base/result.h"

namespace reprise::models {

struct LifeSpec {
  std::string program;
  int world = 1;
  std::vector<std::string> arguments;
  std::filesystem::path logbook_folder;  // made; gets rank-R.jsonl and rank-R.err
  bool forked = false;                   // by a fork server in place of a cold start
};

// Exit statuses by rank (128 + signal for a rank that a signal ended). A life that lasts longer
// than a minute is killed.
Result<std::vector<int>> RunLife(const LifeSpec& spec);

// What a life did, by name: losses, rates, sample ids, and the state after each step with the parts
// of all ranks added. Equal names of two lives must have equal values. An error when two readings
// of one step, or two replicas, differ.
Result<std::map<std::string, std::string>> FactsOf(const std::filesystem::path& logbook_folder);

}  // namespace reprise::models

#endif  // REPRISE_REFERENCE_MODELS_LIVES_H_
