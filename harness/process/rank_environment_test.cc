#include "harness/process/rank_environment.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace reprise {
namespace {

// Listens as a target does; false when the port is taken.
bool CanListen(int family, int port, bool reuse) {
  const UniqueFd listener(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = reuse ? 1 : 0;
  setsockopt(listener.Get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in6 any6{};
  any6.sin6_family = AF_INET6;
  any6.sin6_port = htons(static_cast<std::uint16_t>(port));
  sockaddr_in local{};
  local.sin_family = AF_INET;
  local.sin_port = htons(static_cast<std::uint16_t>(port));
  local.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool is6 = family == AF_INET6;
  const auto* const address =
      is6 ? reinterpret_cast<sockaddr*>(&any6) : reinterpret_cast<sockaddr*>(&local);
  const socklen_t size = is6 ? sizeof(any6) : sizeof(local);
  return bind(listener.Get(), address, size) == 0 && listen(listener.Get(), 8) == 0;
}

TEST(ReservedPortTest, TheTargetCanListenAndOthersCannot) {
  const auto port = ReservedPort::Reserve();
  ASSERT_TRUE(port);
  EXPECT_TRUE(CanListen(AF_INET, port->Number(), true));
  EXPECT_FALSE(CanListen(AF_INET, port->Number(), false));
  const UniqueFd v6(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (v6.IsValid()) {  // TCPStore listens on all addresses of both families
    EXPECT_TRUE(CanListen(AF_INET6, port->Number(), true));
  }
}

TEST(RankEnvironmentTest, KeepsWhatTheUserSets) {
  const Environment base =
      BaseEnvironment({{"OMP_NUM_THREADS", "3"}, {"PYTHONHASHSEED", "0"}, {"RANK", "9"}});
  const Environment environment =
      RankEnvironment(base, {.rank = 1, .world = 2, .attempt = 7, .logbook_folder = {}});
  EXPECT_EQ(environment.at("OMP_NUM_THREADS"), "3");
  EXPECT_EQ(environment.at("PYTHONHASHSEED"), "0");
  EXPECT_EQ(environment.at("RANK"), "1");
}

TEST(RankEnvironmentTest, HashSeedsDifferBetweenAttempts) {
  const Environment first = RankEnvironment({}, {.attempt = 0, .logbook_folder = {}});
  const Environment second = RankEnvironment({}, {.attempt = 1, .logbook_folder = {}});
  EXPECT_NE(first.at("PYTHONHASHSEED"), second.at("PYTHONHASHSEED"));
}

TEST(LoadTimeKeyTest, DependsOnLoadTimeVariablesOnly) {
  const std::string key = LoadTimeKey("train", {{"WORD", "a"}, {"OMP_NUM_THREADS", "1"}});
  EXPECT_EQ(key, LoadTimeKey("train", {{"WORD", "b"}, {"OMP_NUM_THREADS", "1"}}));
  EXPECT_NE(key, LoadTimeKey("train", {{"WORD", "a"}, {"OMP_NUM_THREADS", "2"}}));
  EXPECT_NE(key, LoadTimeKey("other", {{"WORD", "a"}, {"OMP_NUM_THREADS", "1"}}));
}

}  // namespace
}  // namespace reprise
