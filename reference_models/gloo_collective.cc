// The collective over c10d's Gloo.
//
// c10d 1.13 waits a whole second between two attempts to reach a store that does not listen yet, so
// the other ranks first look for the listener themselves, every two milliseconds.

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <sys/socket.h>

#include <chrono>
#include <cstring>
#include <exception>
#include <memory>
#include <thread>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <utility>

#include "harness/base/unique_fd.h"
#include "reference_models/collective.h"

namespace reprise::models {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kTimeout{20'000};
constexpr milliseconds kPollInterval{2};

class Alone final : public Collective {
 public:
  [[nodiscard]] int Rank() const override { return 0; }
  [[nodiscard]] int World() const override { return 1; }
  Result<std::vector<std::string>> AllGather(std::string_view mine) override {
    return std::vector<std::string>{std::string(mine)};
  }
};

class GlooCollective final : public Collective {
 public:
  GlooCollective(const Place& place, c10::intrusive_ptr<c10d::TCPStore> store,
                 std::unique_ptr<c10d::ProcessGroupGloo> group)
      : place_(place), store_(std::move(store)), group_(std::move(group)) {}

  [[nodiscard]] int Rank() const override { return place_.rank; }
  [[nodiscard]] int World() const override { return place_.world; }

  Result<std::vector<std::string>> AllGather(std::string_view mine) override {
    try {
      const auto size = static_cast<std::int64_t>(mine.size());
      std::vector<at::Tensor> inputs{at::empty({size}, at::kByte)};
      std::memcpy(inputs[0].data_ptr(), mine.data(), mine.size());
      std::vector<std::vector<at::Tensor>> outputs(1);
      for (int r = 0; r < place_.world; ++r) {
        outputs[0].push_back(at::empty({size}, at::kByte));
      }
      group_->allgather(outputs, inputs)->wait();
      std::vector<std::string> texts;
      for (const at::Tensor& output : outputs[0]) {
        texts.emplace_back(static_cast<const char*>(output.data_ptr()), mine.size());
      }
      return texts;
    } catch (const std::exception& error) {
      return Fail(ErrorCode::kSystem,
                  fmt::format("rank {} of {}: the all-gather failed, probably since another rank "
                              "ended: {}",
                              place_.rank, place_.world, error.what()));
    }
  }

 private:
  Place place_;
  c10::intrusive_ptr<c10d::TCPStore> store_;  // rank 0's is the server of all
  std::unique_ptr<c10d::ProcessGroupGloo> group_;
};

bool IsListening(const addrinfo& address) {
  const UniqueFd fd(socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  return fd.IsValid() && connect(fd.Get(), address.ai_addr, address.ai_addrlen) == 0;
}

Status WaitForStore(const Place& place) {
  addrinfo hints = {};
  hints.ai_family = AF_INET;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(place.master_port);
  if (const int error = getaddrinfo(place.master_address.c_str(), port.c_str(), &hints, &found)) {
    return Fail(ErrorCode::kUsage, fmt::format("MASTER_ADDR \"{}\" cannot be resolved: {}",
                                               place.master_address, gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  const auto deadline = steady_clock::now() + kTimeout;
  while (!IsListening(*found)) {
    if (steady_clock::now() > deadline) {
      return Fail(ErrorCode::kDeadline,
                  fmt::format("rank {}: rank 0 did not listen at {}:{} within {} s", place.rank,
                              place.master_address, place.master_port, kTimeout.count() / 1000));
    }
    std::this_thread::sleep_for(kPollInterval);
  }
  return {};
}

std::unique_ptr<Collective> Connect(const Place& place) {
  c10d::TCPStoreOptions store_options;
  store_options.port = static_cast<std::uint16_t>(place.master_port);
  store_options.isServer = place.rank == 0;
  store_options.numWorkers = static_cast<std::size_t>(place.world);
  store_options.waitWorkers = false;
  store_options.timeout = kTimeout;
  auto store = c10::make_intrusive<c10d::TCPStore>(place.master_address, store_options);
  auto options = c10d::ProcessGroupGloo::Options::create(kTimeout);
  // The default resolves the host name, which on many machines leads nowhere.
  options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"));
  options->threads = 1;
  auto group =
      std::make_unique<c10d::ProcessGroupGloo>(store, place.rank, place.world, std::move(options));
  return std::make_unique<GlooCollective>(place, std::move(store), std::move(group));
}

}  // namespace

Result<std::unique_ptr<Collective>> JoinRanks(const Place& place) {
  if (place.world == 1) return std::make_unique<Alone>();
  if (place.rank != 0) REPRISE_RETURN_IF_ERROR(WaitForStore(place));
  try {
    return Connect(place);
  } catch (const std::exception& error) {
    return Fail(ErrorCode::kSystem,
                fmt::format("rank {} of {} could not join the others at {}:{}: {}", place.rank,
                            place.world, place.master_address, place.master_port, error.what()));
  }
}

}  // namespace reprise::models
