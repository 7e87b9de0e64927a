// One life of a target: its command made concrete, run under the supervisor, its evidence read
// back.

#ifndef REPRISE_HARNESS_CAMPAIGN_LIFE_H_
#define REPRISE_HARNESS_CAMPAIGN_LIFE_H_

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/judge/judge.h"
#include "harness/model/case.h"
#include "harness/process/supervisor.h"

namespace reprise {

struct Life {
  const Target* target = nullptr;
  int world = 1;
  int attempt = 0;
  std::filesystem::path checkpoint_folder;  // must exist
  std::filesystem::path attempt_folder;     // created; see harness/record/attempt_store.h
  std::filesystem::path models_folder;      // what {models} stands for
  std::vector<Injector*> injectors;         // not owned
  std::vector<std::string> injector_names;  // one per injector: "kill.operation"
  bool cold = false;                        // exec, also where the target has a fork server
};

// Target::command with its placeholders replaced (harness/plan/placeholders.h), one per rank.
std::vector<std::vector<std::string>> ExpandCommand(const Life& life);

struct LifeResult {
  AttemptEvidence evidence;
  // From the start of the attempt until every rank was ready (its `ready` record); zero: never.
  std::chrono::microseconds ready_after{0};
};

// The evidence is also stored in `attempt_folder`. kUnsupported: the target left a logbook that
// cannot be read.
Result<LifeResult> RunLife(Supervisor* supervisor, const Life& life);

// Reads what RunLife stored.
Result<AttemptEvidence> LoadLife(const std::filesystem::path& attempt_folder, int world);

}  // namespace reprise

#endif  // REPRISE_HARNESS_CAMPAIGN_LIFE_H_
