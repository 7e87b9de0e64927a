#include "harness/campaign/life.h"

#include <cerrno>
#include <map>
#include <set>
#include <variant>

#include "harness/plan/placeholders.h"
#include "harness/record/attempt_store.h"
#include "harness/record/logbook_reader.h"

namespace reprise {
namespace {

using Clock = std::chrono::steady_clock;

// Not a fault: looks when every rank has announced that it is ready.
class ReadyWatch final : public Injector {
 public:
  explicit ReadyWatch(int world) : world_(world) {}

  Action OnRecord(int rank, const LogRecord& record) override {
    if (std::holds_alternative<ReadyRecord>(record)) {
      ready_ranks_.insert(rank);
      if (static_cast<int>(ready_ranks_.size()) == world_ && ready_at_ == Clock::time_point()) {
        ready_at_ = Clock::now();
      }
    }
    return Action::Continue();
  }

  [[nodiscard]] std::chrono::microseconds Since(Clock::time_point start) const {
    if (ready_at_ == Clock::time_point()) {
      return std::chrono::microseconds(0);
    }
    return std::chrono::duration_cast<std::chrono::microseconds>(ready_at_ - start);
  }

 private:
  int world_;
  std::set<int> ready_ranks_;
  Clock::time_point ready_at_;
};

// The checkpoint folder lies in our run directory: no room in it says nothing about the target.
Status CheckRoom(const Life& life, const AttemptResult& result) {
  for (const AttemptEvent& event : result.events) {
    const auto* at = std::get_if<OperationEvent>(&event);
    if (at != nullptr && (at->operation.result == -ENOSPC || at->operation.result == -EDQUOT)) {
      return FailErrno(static_cast<int>(-at->operation.result),
                       "the target found no room in the run directory; free some, or look whether "
                       "the target writes without bounds",
                       (life.checkpoint_folder / at->operation.path).string());
    }
  }
  return {};
}

}  // namespace

std::vector<std::vector<std::string>> ExpandCommand(const Life& life) {
  std::vector<std::vector<std::string>> commands;
  for (int rank = 0; rank < life.world; ++rank) {
    const std::map<std::string, std::string> values = {
        {"ckpt", life.checkpoint_folder.string()},
        {"rank", std::to_string(rank)},
        {"world", std::to_string(life.world)},
        {"steps", std::to_string(life.target->steps)},
        {"seed", std::to_string(life.target->seed)},
        {"attempt", std::to_string(life.attempt)},
        {"device", "cpu"},
        {"models", life.models_folder.string()}};
    std::vector<std::string> command;
    for (const std::string& argument : life.target->command) {
      command.push_back(ReplacePlaceholders(argument, values));
    }
    commands.push_back(std::move(command));
  }
  return commands;
}

Result<LifeResult> RunLife(Supervisor* supervisor, const Life& life) {
  REPRISE_RETURN_IF_ERROR(PrepareAttemptFolder(life.attempt_folder));
  ReadyWatch ready(life.world);
  AttemptSpec spec;
  spec.commands = ExpandCommand(life);
  spec.environment = life.target->environment;
  spec.attempt = life.attempt;
  spec.checkpoint_folder = life.checkpoint_folder;
  spec.logbook_folder = life.attempt_folder / "logbook";
  spec.output_folder = life.attempt_folder / "output";
  spec.injectors = life.injectors;
  spec.injectors.push_back(&ready);
  spec.injector_names = life.injector_names;
  spec.injector_names.emplace_back("ready watch");
  spec.use_fork_server = life.target->fork_server && !life.cold;
  const Clock::time_point start = Clock::now();
  REPRISE_ASSIGN_OR_RETURN(AttemptResult result, supervisor->Run(spec));
  REPRISE_RETURN_IF_ERROR(CheckRoom(life, result));
  LifeResult life_result;
  life_result.ready_after = ready.Since(start);
  REPRISE_RETURN_IF_ERROR(StoreAttempt(life.attempt_folder, result));
  life_result.evidence.world = life.world;
  life_result.evidence.result = std::move(result);
  auto logbooks = ReadLogbooks(life.attempt_folder / "logbook");
  if (!logbooks) {  // the target wrote it, so that it is no trouble of ours
    return Fail(ErrorCode::kUnsupported, "the logbook cannot be read: " + logbooks.error().message,
                logbooks.error().where);
  }
  life_result.evidence.logbooks = std::move(*logbooks);
  return life_result;
}

Result<AttemptEvidence> LoadLife(const std::filesystem::path& attempt_folder, int world) {
  AttemptEvidence evidence;
  evidence.world = world;
  REPRISE_ASSIGN_OR_RETURN(evidence.result, LoadAttempt(attempt_folder));
  REPRISE_ASSIGN_OR_RETURN(evidence.logbooks, ReadLogbooks(attempt_folder / "logbook"));
  return evidence;
}

}  // namespace reprise
