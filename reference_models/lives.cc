#include "reference_models/lives.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netinet/in.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "harness/base/files.h"
#include "harness/base/unique_fd.h"
#include "harness/record/logbook_reader.h"

namespace reprise::models {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kLongestLife{60};
constexpr int kForkServerFd = 3;

// Bound and not listening: nobody else gets the port before rank 0 listens there.
struct HeldPort {
  UniqueFd fd;
  int port = 0;
};

Result<HeldPort> HoldPort() {
  HeldPort held{UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), 0};
  const int on = 1;
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (!held.fd.IsValid() ||
      setsockopt(held.fd.Get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      bind(held.fd.Get(), generic, length) != 0 ||
      getsockname(held.fd.Get(), generic, &length) != 0) {
    return FailErrno(errno, "hold a port");
  }
  held.port = ntohs(address.sin_port);
  return held;
}

std::vector<std::string> EnvironmentOf(const LifeSpec& spec, int rank, int port) {
  return {"PATH=/usr/bin:/bin",
          "OMP_NUM_THREADS=1",
          "MASTER_ADDR=127.0.0.1",
          fmt::format("MASTER_PORT={}", port),
          fmt::format("RANK={}", rank),
          fmt::format("LOCAL_RANK={}", rank),
          fmt::format("WORLD_SIZE={}", spec.world),
          "REPRISE_ATTEMPT=0",
          "REPRISE_LOGBOOK=" + spec.logbook_folder.string()};
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

UniqueFd OpenErrors(const LifeSpec& spec, int rank) {
  const auto path = spec.logbook_folder / fmt::format("rank-{}.err", rank);
  return UniqueFd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
}

// `inherited` becomes descriptor 3 of the child when it is valid.
Result<pid_t> Spawn(const LifeSpec& spec, std::vector<std::string> environment, int errors,
                    int inherited) {
  std::vector<std::string> arguments = {spec.program};
  arguments.insert(arguments.end(), spec.arguments.begin(), spec.arguments.end());
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  if (inherited >= 0) posix_spawn_file_actions_adddup2(&actions, inherited, kForkServerFd);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, spec.program.c_str(), &actions, nullptr,
                                Pointers(arguments).data(), Pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return FailErrno(error, "start " + spec.program);
  return pid;
}

Result<int> Wait(pid_t pid, steady_clock::time_point deadline) {
  int status = 0;
  while (true) {
    const pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended < 0) return FailErrno(errno, "wait for a rank");
    if (ended == pid) break;
    if (steady_clock::now() > deadline) kill(pid, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// The request of probes/c/fork_server.h.
std::string ForkRequest(const LifeSpec& spec, const std::vector<std::string>& environment) {
  std::string text;
  const auto add = [&text](const std::string& part) { text.append(part).push_back('\0'); };
  add(std::to_string(spec.arguments.size() + 1));
  add(spec.program);
  for (const std::string& argument : spec.arguments) {
    add(argument);
  }
  add(std::to_string(environment.size()));
  for (const std::string& variable : environment) {
    add(variable);
  }
  add(std::filesystem::current_path().string());
  return text;
}

Result<std::string> Receive(int fd) {
  std::string text(4096, '\0');
  const ssize_t size = recv(fd, text.data(), text.size(), 0);
  if (size < 0) return FailErrno(errno, "hear from the fork server");
  text.resize(static_cast<std::size_t>(size));
  return text;
}

Result<pid_t> Fork(int socket, std::string request, int errors) {
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  const int streams[3] = {null.Get(), null.Get(), errors};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(streams))] = {};
  iovec piece = {request.data(), request.size()};
  msghdr message = {};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(streams));
  std::memcpy(CMSG_DATA(header), streams, sizeof(streams));
  if (sendmsg(socket, &message, 0) < 0) return FailErrno(errno, "ask the fork server");
  REPRISE_ASSIGN_OR_RETURN(const std::string reply, Receive(socket));
  const int pid = std::atoi(reply.c_str());
  if (pid <= 0) return Fail(ErrorCode::kSystem, "the fork server answers: " + reply);
  return pid;
}

// The ranks become children of this process when their server has ended.
Result<std::vector<pid_t>> StartForked(const LifeSpec& spec, int port) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return FailErrno(errno, "make a socket pair");
  }
  UniqueFd ours(ends[0]);
  UniqueFd theirs(fcntl(ends[1], F_DUPFD_CLOEXEC, 10));  // dup2 onto itself would keep O_CLOEXEC
  close(ends[1]);
  auto environment = EnvironmentOf(spec, 0, port);
  environment.push_back(fmt::format("REPRISE_FORK_SERVER_FD={}", kForkServerFd));
  REPRISE_ASSIGN_OR_RETURN(const pid_t server,
                           Spawn(spec, environment, OpenErrors(spec, 0).Get(), theirs.Get()));
  theirs.Reset();
  std::vector<pid_t> ranks;
  REPRISE_ASSIGN_OR_RETURN(const std::string greeting, Receive(ours.Get()));
  if (greeting != "ready") return Fail(ErrorCode::kSystem, "no greeting of the fork server");
  for (int r = 0; r < spec.world; ++r) {
    const UniqueFd errors = OpenErrors(spec, r);
    REPRISE_ASSIGN_OR_RETURN(
        const pid_t rank,
        Fork(ours.Get(), ForkRequest(spec, EnvironmentOf(spec, r, port)), errors.Get()));
    ranks.push_back(rank);
  }
  // At once, so that the ranks become ours (subreaper) before they end: the server has the kernel
  // reap its children, and at its own end libtorch's destructors take longer than a short life.
  kill(server, SIGKILL);
  REPRISE_RETURN_IF_ERROR(Wait(server, steady_clock::now() + kLongestLife));
  return ranks;
}

Result<std::vector<pid_t>> StartCold(const LifeSpec& spec, int port) {
  std::vector<pid_t> ranks;
  for (int r = 0; r < spec.world; ++r) {
    const UniqueFd errors = OpenErrors(spec, r);
    REPRISE_ASSIGN_OR_RETURN(const pid_t rank,
                             Spawn(spec, EnvironmentOf(spec, r, port), errors.Get(), -1));
    ranks.push_back(rank);
  }
  return ranks;
}

class Facts {
 public:
  void Add(const std::string& name, const std::string& value) {
    const auto [found, is_new] = facts_.emplace(name, value);
    if (!is_new && found->second != value) contradiction_ = name;
  }

  void AddRecord(const LogRecord& record) {
    if (const auto* names = std::get_if<NamesRecord>(&record)) {
      names_.insert(names_.end(), names->tensors.begin(), names->tensors.end());
    } else if (const auto* step = std::get_if<StepRecord>(&record)) {
      Add(fmt::format("step {} loss", step->step), step->loss.ToText());
      Add(fmt::format("step {} rate", step->step), step->learning_rate.at(0).ToText());
    } else if (const auto* micro = std::get_if<MicroBatchRecord>(&record)) {
      Add(fmt::format("step {} micro {} worker {}", micro->step, micro->micro, micro->worker),
          fmt::format("{} {}", fmt::join(micro->ids, ","), micro->content));
    } else if (const auto* eval = std::get_if<EvalRecord>(&record)) {
      Add(fmt::format("step {} eval", eval->step), eval->loss.ToText());
    } else if (const auto* state = std::get_if<StateRecord>(&record)) {
      AddState(*state);
    }
  }

  void NextRank() { names_.clear(); }

  Result<std::map<std::string, std::string>> Take() {
    for (const auto& [name, sum] : sums_) {
      const auto space = name.find(' ');  // "reading " in front: equal at every reading of the step
      Add(name.substr(space + 1), fmt::format("{:x} {:x}", sum.a, sum.b));
    }
    if (!contradiction_.empty()) {
      return Fail(ErrorCode::kCorrupt, "two readings or replicas differ: " + contradiction_);
    }
    return std::move(facts_);
  }

 private:
  void AddState(const StateRecord& state) {
    for (const auto& [name, value] : state.scalars) {
      Add(fmt::format("step {} scalar {}", state.step, name), value);
    }
    for (const auto& [number, digest] : state.tensors) {
      const TensorRecord& tensor = names_.at(static_cast<std::size_t>(number));
      const std::string name =
          fmt::format("{} step {} state {}", state.reading, state.step, tensor.Key());
      if (tensor.replica_count > 1) {
        const auto [found, is_new] = replicas_.emplace(name, digest);
        if (!is_new && !(found->second == digest)) contradiction_ = name;
      }
      if (tensor.replica_index == 0) sums_[name] += digest;
      Add(fmt::format("step {} alias {}", state.step, tensor.Key()), tensor.alias_of);
    }
  }

  std::map<std::string, std::string> facts_;
  std::map<std::string, DigestSum> sums_;
  std::map<std::string, DigestSum> replicas_;
  std::vector<TensorRecord> names_;
  std::string contradiction_;
};

}  // namespace

Result<std::vector<int>> RunLife(const LifeSpec& spec) {
  REPRISE_RETURN_IF_ERROR(MakeFolders(spec.logbook_folder));
  REPRISE_ASSIGN_OR_RETURN(const HeldPort held, HoldPort());
  REPRISE_ASSIGN_OR_RETURN(const auto ranks,
                           spec.forked ? StartForked(spec, held.port) : StartCold(spec, held.port));
  const auto deadline = steady_clock::now() + kLongestLife;
  std::vector<int> statuses;
  for (const pid_t rank : ranks) {
    REPRISE_ASSIGN_OR_RETURN(const int status, Wait(rank, deadline));
    statuses.push_back(status);
  }
  return statuses;
}

Result<std::map<std::string, std::string>> FactsOf(const std::filesystem::path& logbook_folder) {
  REPRISE_ASSIGN_OR_RETURN(const auto logbooks, ReadLogbooks(logbook_folder));
  Facts facts;
  for (const Logbook& logbook : logbooks) {
    for (const LogRecord& record : logbook.records) {
      facts.AddRecord(record);
    }
    facts.NextRank();
  }
  return facts.Take();
}

}  // namespace reprise::models
