#include "harness/process/rank_environment.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>

namespace reprise {
namespace {

constexpr std::array<std::string_view, 13> kLoadTimePrefixes = {
    "OMP_",    "GOMP_",  "KMP_", "OPENBLAS_", "MKL_",     "ONEDNN_", "LD_",
    "MALLOC_", "GLIBC_", "LC_",  "TORCH",     "PYTORCH_", "CUDA_"};

bool IsReadAtLoadTime(std::string_view name) {
  // torchrun's own variables differ from launch to launch and are read by the training.
  if (name.starts_with("TORCHELASTIC_")) {
    return false;
  }
  for (const std::string_view prefix : kLoadTimePrefixes) {
    if (name.starts_with(prefix)) {
      return true;
    }
  }
  return name == "TZ" || name == "LANG" || name == "ATEN_CPU_CAPABILITY";
}

}  // namespace

Result<ReservedPort> ReservedPort::Reserve() {
  ReservedPort port;
  port.socket_ = UniqueFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!port.socket_.IsValid()) {
    return FailErrno(errno, "socket for MASTER_PORT");
  }
  const int on = 1;
  setsockopt(port.socket_.Get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (bind(port.socket_.Get(), generic, size) != 0 ||
      getsockname(port.socket_.Get(), generic, &size) != 0) {
    return FailErrno(errno, "reserving MASTER_PORT on 127.0.0.1");
  }
  port.number_ = ntohs(address.sin_port);
  return port;
}

Environment BaseEnvironment(const Environment& extra) {
  Environment environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (const std::size_t equals = text.find('='); equals != std::string_view::npos) {
      environment[std::string(text.substr(0, equals))] = text.substr(equals + 1);
    }
  }
  for (const auto& [name, value] : extra) {
    environment[name] = value;
  }
  environment.erase("REPRISE_FORK_SERVER_FD");
  environment.try_emplace("OMP_NUM_THREADS", "1");
  return environment;
}

Environment RankEnvironment(Environment base, const RankPlace& place) {
  const std::string rank = std::to_string(place.rank);
  const std::string world = std::to_string(place.world);
  for (const char* name : {"RANK", "LOCAL_RANK", "ROLE_RANK"}) {
    base[name] = rank;
  }
  for (const char* name : {"WORLD_SIZE", "LOCAL_WORLD_SIZE", "ROLE_WORLD_SIZE"}) {
    base[name] = world;
  }
  base["GROUP_RANK"] = "0";
  base["MASTER_ADDR"] = "127.0.0.1";
  base["MASTER_PORT"] = std::to_string(place.port);
  base["TORCHELASTIC_RUN_ID"] = "reprise";
  base["TORCHELASTIC_RESTART_COUNT"] = std::to_string(place.attempt);
  base["TORCHELASTIC_MAX_RESTARTS"] = std::to_string(place.attempt);
  base["REPRISE_LOGBOOK"] = place.logbook_folder.string();
  base["REPRISE_ATTEMPT"] = std::to_string(place.attempt);
  base.try_emplace("PYTHONHASHSEED", std::to_string(1 + place.attempt));
  return base;
}

std::vector<std::string> EnvironmentTexts(const Environment& environment) {
  std::vector<std::string> texts;
  texts.reserve(environment.size());
  for (const auto& [name, value] : environment) {
    texts.push_back(fmt::format("{}={}", name, value));
  }
  return texts;
}

std::string LoadTimeKey(const std::string& program, const Environment& environment) {
  std::string key = program;
  for (const auto& [name, value] : environment) {
    if (IsReadAtLoadTime(name)) {
      key += fmt::format("\n{}={}", name, value);
    }
  }
  return key;
}

}  // namespace reprise
