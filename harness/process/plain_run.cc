#include "harness/process/plain_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "harness/base/files.h"
#include "harness/process/child_wait.h"
#include "harness/process/launch_child.h"
#include "harness/process/rank_environment.h"
#include "harness/process/stop.h"

namespace reprise {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr milliseconds kLook{200};  // how often a request to stop is looked for

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

// The process, leader of a group of its own; or an errno value, negated.
pid_t Spawn(const std::string& program, std::vector<std::string> arguments,
            std::vector<std::string> environment, const std::string& output) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                   0644);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, program.c_str(), &actions, &attributes,
                                Pointers(arguments).data(), Pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error == 0 ? pid : -error;
}

// The ranks that still run; kills and reaps them at the end of its life.
class Ranks {
 public:
  Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  ~Ranks() {
    for (const pid_t pid : running_) {
      kill(-pid, SIGKILL);
      waitpid(pid, nullptr, 0);
    }
  }

  Status Start(const PlainSpec& spec, int rank, int port) {
    const auto& command = spec.commands[static_cast<std::size_t>(rank)];
    REPRISE_ASSIGN_OR_RETURN(const std::string program, FindProgram(command.front()));
    Environment environment = RankEnvironment(BaseEnvironment(spec.environment),
                                              {.rank = rank,
                                               .world = static_cast<int>(spec.commands.size()),
                                               .port = port,
                                               .attempt = 0,
                                               .logbook_folder = spec.logbook_folder});
    if (spec.logbook_folder.empty()) {
      environment.erase("REPRISE_LOGBOOK");
    }
    const pid_t pid =
        Spawn(program, command, EnvironmentTexts(environment), spec.output_file.string());
    if (pid < 0) {
      return FailErrno(-pid, "cannot start", program);
    }
    running_.insert(pid);
    return {};
  }

  // Adds what they used to `run`. Fails when one fails.
  Status WaitForAll(const PlainSpec& spec, Clock::time_point start, PlainRun* run) {
    ChildWait wait;
    while (!running_.empty()) {
      if (StopRequested() || Clock::now() - start > spec.timeout) {
        return Fail(ErrorCode::kDeadline, "stopped before the run had ended",
                    spec.commands.front().front());
      }
      const auto report = wait.Next(kLook);
      if (!report || !report->HasEnded() || running_.erase(report->tid) == 0) {
        continue;
      }
      Count(report->usage, run);
      if (report->status != 0) {
        const auto said = ReadFile(spec.output_file, std::uint64_t{1} << 20);
        return Fail(
            ErrorCode::kSystem,
            fmt::format("a rank ended with wait status {}: {}", report->status,
                        said ? said->substr(said->size() - std::min<std::size_t>(said->size(), 500))
                             : "it printed too much to show"),
            spec.commands.front().front());
      }
    }
    return {};
  }

 private:
  static void Count(const rusage& usage, PlainRun* run) {
    for (const timeval& time : {usage.ru_utime, usage.ru_stime}) {
      run->cpu_time += std::chrono::seconds(time.tv_sec) + microseconds(time.tv_usec);
    }
    run->peak_memory_bytes = std::max(run->peak_memory_bytes, std::int64_t{usage.ru_maxrss} * 1024);
  }

  std::set<pid_t> running_;
};

}  // namespace

Result<PlainRun> RunPlain(const PlainSpec& spec) {
  REPRISE_ASSIGN_OR_RETURN(const ReservedPort port, ReservedPort::Reserve());
  const auto start = Clock::now();
  PlainRun run;
  Ranks ranks;
  for (std::size_t rank = 0; rank < spec.commands.size(); ++rank) {
    REPRISE_RETURN_IF_ERROR(ranks.Start(spec, static_cast<int>(rank), port.Number()));
  }
  REPRISE_RETURN_IF_ERROR(ranks.WaitForAll(spec, start, &run));
  run.wall_time = std::chrono::duration_cast<microseconds>(Clock::now() - start);
  return run;
}

}  // namespace reprise
