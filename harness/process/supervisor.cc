#include "harness/process/supervisor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

#include "harness/process/attempt_run.h"
#include "harness/process/filter.h"
#include "harness/process/fork_server.h"
#include "harness/process/rank_environment.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxServers = 3;  // each holds a few hundred MB

struct RankStreams {
  UniqueFd output;
  UniqueFd error;
};

Result<UniqueFd> OpenOutput(const fs::path& path) {
  UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644));
  if (!file.IsValid()) {
    return FailErrno(errno, "opening an output file", path.string());
  }
  return file;
}

Result<std::string> RealFolder(const fs::path& path, const char* what) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  if (error || !fs::is_directory(real, error)) {
    return Fail(ErrorCode::kNotFound, std::string(what) + " is no folder", path.string());
  }
  return real.string();
}

// All of an attempt that is made before its processes.
struct Prepared {
  WatchedPlaces places;
  std::vector<RankStreams> streams;
  UniqueFd nothing;  // standard input
  ReservedPort port;
  Environment environment;
  std::vector<std::string> programs;
};

class TracingSupervisor final : public Supervisor {
 public:
  explicit TracingSupervisor(Filters filters) : filters_(std::move(filters)) {}
  ~TracingSupervisor() override;

  Result<AttemptResult> Run(const AttemptSpec& spec) override;

 private:
  struct ServerEntry {
    std::string key;
    std::unique_ptr<ForkServer> server;
  };

  static Result<Prepared> Prepare(const AttemptSpec& spec);
  static std::vector<std::string> EnvironmentOf(const AttemptSpec& spec, const Prepared& prepared,
                                                int rank);
  Status StartCold(const AttemptSpec& spec, const Prepared& prepared, AttemptRun& run);
  Status StartForked(const AttemptSpec& spec, const Prepared& prepared, AttemptRun& run);
  Status ForkRank(const AttemptSpec& spec, const Prepared& prepared, int rank, AttemptRun& run);
  Result<ForkServer*> ServerFor(const std::string& program, const Prepared& prepared,
                                AttemptRun& run);
  void DropServer(std::size_t index);

  Filters filters_;
  Tracees tracees_;
  std::vector<ServerEntry> servers_;  // the most recently used last
  bool server_is_new_ = false;        // started by this attempt
};

TracingSupervisor::~TracingSupervisor() {
  std::vector<pid_t> ending;
  while (!servers_.empty()) {
    ending.push_back(servers_.front().server->Pid());
    DropServer(0);
  }
  ChildWait wait;
  const auto is_left = [this](pid_t pid) { return tracees_.Find(pid) != nullptr; };
  for (int i = 0; i < 100 && std::any_of(ending.begin(), ending.end(), is_left); ++i) {
    const auto report = wait.Next(std::chrono::milliseconds(50));
    if (report && report->HasEnded()) {
      tracees_.Remove(report->tid);
    }
  }
}

// Its end is seen by whichever attempt waits next: waiting here would swallow reports of ranks.
void TracingSupervisor::DropServer(std::size_t index) {
  const pid_t pid = servers_[index].server->Pid();
  if (tracees_.Find(pid) != nullptr) {
    kill(pid, SIGKILL);
  }
  servers_.erase(servers_.begin() + static_cast<std::ptrdiff_t>(index));
}

Result<Prepared> TracingSupervisor::Prepare(const AttemptSpec& spec) {
  Prepared prepared;
  REPRISE_ASSIGN_OR_RETURN(prepared.places.checkpoint,
                           RealFolder(spec.checkpoint_folder, "the checkpoint folder"));
  REPRISE_ASSIGN_OR_RETURN(prepared.places.logbook,
                           RealFolder(spec.logbook_folder, "the logbook folder"));
  REPRISE_RETURN_IF_ERROR(RealFolder(spec.output_folder, "the output folder"));
  prepared.places.record_data = spec.record_data;
  for (int rank = 0; rank < static_cast<int>(spec.commands.size()); ++rank) {
    const auto& command = spec.commands[static_cast<std::size_t>(rank)];
    if (command.empty()) {
      return Fail(ErrorCode::kInvalidInput, fmt::format("the command of rank {} is empty", rank));
    }
    REPRISE_ASSIGN_OR_RETURN(std::string program, FindProgram(command[0]));
    prepared.programs.push_back(std::move(program));
    RankStreams streams;
    const fs::path base = spec.output_folder / fmt::format("rank-{}", rank);
    REPRISE_ASSIGN_OR_RETURN(streams.output, OpenOutput(base.string() + ".out"));
    REPRISE_ASSIGN_OR_RETURN(streams.error, OpenOutput(base.string() + ".err"));
    const auto out = FactsOfPath(base.string() + ".out").value_or(FileFacts{});
    const auto err = FactsOfPath(base.string() + ".err").value_or(FileFacts{});
    prepared.places.outputs[out.key] = {rank, 1};
    prepared.places.outputs[err.key] = {rank, 2};
    prepared.streams.push_back(std::move(streams));
  }
  prepared.nothing = UniqueFd(open("/dev/null", O_RDONLY | O_CLOEXEC));
  REPRISE_ASSIGN_OR_RETURN(prepared.port, ReservedPort::Reserve());
  Environment extra = spec.environment;
  for (Injector* const injector : spec.injectors) {
    injector->AtLaunch({.world = static_cast<int>(spec.commands.size()), .environment = &extra});
  }
  prepared.environment = BaseEnvironment(extra);
  return prepared;
}

std::vector<std::string> TracingSupervisor::EnvironmentOf(const AttemptSpec& spec,
                                                          const Prepared& prepared, int rank) {
  return EnvironmentTexts(
      RankEnvironment(prepared.environment, {.rank = rank,
                                             .world = static_cast<int>(spec.commands.size()),
                                             .port = prepared.port.Number(),
                                             .attempt = spec.attempt,
                                             .logbook_folder = prepared.places.logbook}));
}

Status TracingSupervisor::StartCold(const AttemptSpec& spec, const Prepared& prepared,
                                    AttemptRun& run) {
  for (int rank = 0; rank < static_cast<int>(spec.commands.size()); ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    REPRISE_ASSIGN_OR_RETURN(Child child,
                             LaunchChild({.program = prepared.programs[index],
                                          .arguments = spec.commands[index],
                                          .environment = EnvironmentOf(spec, prepared, rank),
                                          .folder = spec.working_folder.string(),
                                          .input = prepared.nothing.Get(),
                                          .output = prepared.streams[index].output.Get(),
                                          .error = prepared.streams[index].error.Get(),
                                          .filter = &filters_.main}));
    run.AddRank(std::move(child));
  }
  return {};
}

Result<ForkServer*> TracingSupervisor::ServerFor(const std::string& program,
                                                 const Prepared& prepared, AttemptRun& run) {
  const std::string key = LoadTimeKey(program, prepared.environment);
  server_is_new_ = false;
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    const bool is_alive = tracees_.Find(servers_[i].server->Pid()) != nullptr;
    if (servers_[i].key == key && is_alive) {
      std::rotate(servers_.begin() + static_cast<std::ptrdiff_t>(i),
                  servers_.begin() + static_cast<std::ptrdiff_t>(i) + 1, servers_.end());
      return servers_.back().server.get();
    }
    if (!is_alive) {
      DropServer(i--);
    }
  }
  if (servers_.size() >= kMaxServers) {
    DropServer(0);
  }
  server_is_new_ = true;
  REPRISE_ASSIGN_OR_RETURN(auto server,
                           ForkServer::Start(program, prepared.environment, filters_.main));
  tracees_.Add(server->Pid(), server->Pid(), kServerRank);
  servers_.push_back({key, std::move(server)});
  if (Status ready = run.AwaitServer(*servers_.back().server); !ready) {
    DropServer(servers_.size() - 1);
    return tl::make_unexpected(ready.error());
  }
  return servers_.back().server.get();
}

Status TracingSupervisor::StartForked(const AttemptSpec& spec, const Prepared& prepared,
                                      AttemptRun& run) {
  for (int rank = 0; rank < static_cast<int>(spec.commands.size()); ++rank) {
    Status forked = ForkRank(spec, prepared, rank, run);
    if (!forked && forked.error().code != ErrorCode::kDeadline && !server_is_new_) {
      forked = ForkRank(spec, prepared, rank, run);  // an old server had died: with a fresh one
    }
    REPRISE_RETURN_IF_ERROR(forked);
  }
  return {};
}

Status TracingSupervisor::ForkRank(const AttemptSpec& spec, const Prepared& prepared, int rank,
                                   AttemptRun& run) {
  const auto index = static_cast<std::size_t>(rank);
  const std::string folder =
      spec.working_folder.empty() ? fs::current_path().string() : spec.working_folder.string();
  REPRISE_ASSIGN_OR_RETURN(ForkServer* const server,
                           ServerFor(prepared.programs[index], prepared, run));
  Status forked = run.ForkRank(*server, {.arguments = spec.commands[index],
                                         .environment = EnvironmentOf(spec, prepared, rank),
                                         .folder = folder,
                                         .input = prepared.nothing.Get(),
                                         .output = prepared.streams[index].output.Get(),
                                         .error = prepared.streams[index].error.Get()});
  if (!forked) {
    DropServer(servers_.size() - 1);
  }
  return forked;
}

Result<AttemptResult> TracingSupervisor::Run(const AttemptSpec& spec) {
  REPRISE_ASSIGN_OR_RETURN(const Prepared prepared, Prepare(spec));
  AttemptRun run(spec, prepared.places, tracees_, filters_);
  const Status started =
      spec.use_fork_server ? StartForked(spec, prepared, run) : StartCold(spec, prepared, run);
  if (!started) {
    run.Abandon();
    return tl::make_unexpected(started.error());
  }
  return run.Finish();
}

}  // namespace

Result<std::unique_ptr<Supervisor>> Supervisor::Create(const std::vector<CallShape>& watched) {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
    return FailErrno(errno, "prctl(PR_SET_CHILD_SUBREAPER)");
  }
  Filters filters;
  REPRISE_ASSIGN_OR_RETURN(filters.main, BuildFilter(watched));
  REPRISE_ASSIGN_OR_RETURN(filters.low_descriptors, BuildLowDescriptorFilter(watched));
  REPRISE_ASSIGN_OR_RETURN(filters.standard_descriptors, BuildStandardDescriptorFilter(watched));
  return std::make_unique<TracingSupervisor>(std::move(filters));
}

}  // namespace reprise
