// The fork server against a well-behaved and a hostile harness. The server runs in a forked child
// of the test; all waits end with the peer's end of the socket or of the pipe.

#include "probes/c/fork_server.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace reprise {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Strings = std::vector<std::string>;

// Prints what a life sees; the stream is flushed by exit() alone.
int Train(int argc, char** argv) {
  std::array<char, 4096> folder = {};
  const char* const value = std::getenv("COLOUR");
  const bool is_leader = getsid(0) == getpid();
  std::printf("%d %s %s %s %s %d", argc, argv[argc - 1], value == nullptr ? "-" : value,
              getcwd(folder.data(), folder.size()),
              std::getenv("REPRISE_FORK_SERVER_FD") == nullptr ? "clean" : "inherited",
              is_leader ? 1 : 0);
  return 7;
}

std::string Joined(const Strings& strings) {
  std::string bytes;
  for (const std::string& text : strings) {
    bytes += text + '\0';
  }
  return bytes;
}

class ForkServerTest : public ::testing::Test {
 protected:
  ForkServerTest() {
    std::array<int, 2> ends = {};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
    const int size = 4 << 20;
    setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    socket_ = ends[0];
    server_ = fork();
    if (server_ == 0) {
      close(ends[0]);
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      setenv("REPRISE_FORK_SERVER_FD", std::to_string(ends[1]).c_str(), 1);
      _exit(reprise_run_main(0, nullptr, Train, nullptr));
    }
    close(ends[1]);
    ready_ = Receive();
  }
  ~ForkServerTest() override { EXPECT_EQ(End(), 0); }

  // Closes the socket and returns the server's exit status.
  int End() {
    if (socket_ < 0) {
      return 0;
    }
    close(socket_);
    socket_ = -1;
    int status = 0;
    EXPECT_EQ(waitpid(server_, &status, 0), server_);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::string Receive() {
    std::array<char, 512> text = {};
    const ssize_t n = recv(socket_, text.data(), text.size(), 0);
    return n < 0 ? std::string("receive failed") : std::string(text.data(), static_cast<size_t>(n));
  }

  // Sends `bytes` with `count` copies of `fd` attached, and returns the reply.
  std::string Ask(const std::string& bytes, int fd, std::size_t count = 3) {
    union {
      char bytes[CMSG_SPACE(sizeof(int) * 8)];
      cmsghdr align;
    } control = {};
    iovec part = {const_cast<char*>(bytes.data()), bytes.size()};
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (count > 0) {
      message.msg_control = control.bytes;
      message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
      cmsghdr* const header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int) * count);
      for (std::size_t i = 0; i < count; ++i) {
        std::memcpy(CMSG_DATA(header) + i * sizeof(int), &fd, sizeof(int));
      }
    }
    if (sendmsg(socket_, &message, MSG_NOSIGNAL) < 0) {
      return std::string("send failed: ") + std::strerror(errno);
    }
    return Receive();
  }

  // One life; returns what it wrote.
  std::string Live(const Strings& request) {
    std::array<int, 2> pipe_ends = {};
    EXPECT_EQ(pipe2(pipe_ends.data(), O_CLOEXEC), 0);
    const std::string reply = Ask(Joined(request), pipe_ends[1]);
    close(pipe_ends[1]);
    EXPECT_GT(std::atol(reply.c_str()), 1) << reply;
    std::string written;
    std::array<char, 512> text = {};
    for (ssize_t n = 1; (n = read(pipe_ends[0], text.data(), text.size())) > 0;) {
      written.append(text.data(), static_cast<std::size_t>(n));
    }
    close(pipe_ends[0]);
    return written;
  }

  int socket_ = -1;
  pid_t server_ = -1;
  std::string ready_;
};

TEST_F(ForkServerTest, EachRequestIsOneLifeWithItsArgumentsEnvironmentAndFolder) {
  EXPECT_EQ(ready_, "ready");
  EXPECT_EQ(Live({"2", "train", "first", "1", "COLOUR=red", "/"}), "2 first red / clean 1");
  EXPECT_EQ(Live({"1", "train", "0", "/usr"}), "1 train - /usr clean 1");
  EXPECT_EQ(Live({"1", "train", "2", "REPRISE_FORK_SERVER_FD=3", "COLOUR=", "/"}),
            "1 train  / clean 1");
}

TEST_F(ForkServerTest, AFolderThatCannotBeEnteredIsSaidByTheChild) {
  EXPECT_THAT(Live({"1", "train", "0", "/no/such/folder"}), HasSubstr("/no/such/folder"));
}

TEST_F(ForkServerTest, MalformedRequestsAreAnsweredWithAnErrorAndTheServerGoesOn) {
  const std::string good = Joined({"1", "train", "0", "/"});
  const Strings bad = {
      std::string(1, '\0'),
      "1",
      Joined({"0", "0", "/"}),
      Joined({"-1", "train", "0", "/"}),
      Joined({"1x", "train", "0", "/"}),
      Joined({"99999999999999999999", "train", "0", "/"}),
      Joined({"65537", "train", "0", "/"}),
      Joined({"3", "train", "0", "/"}),
      Joined({"1", "train", "1", "novalue", "/"}),
      Joined({"1", "train", "1", "=novalue", "/"}),
      Joined({"1", "train", "0"}),
      Joined({"1", "train", "0", ""}),
      good.substr(0, good.size() - 1),
      good + "x",
      std::string(5000, 'x'),
      std::string((1 << 20) + 1, '1'),
  };
  for (const std::string& request : bad) {
    EXPECT_THAT(Ask(request, STDERR_FILENO), StartsWith("error: ")) << request.substr(0, 40);
  }
  EXPECT_THAT(Ask(good, STDERR_FILENO, 0), StartsWith("error: "));
  EXPECT_THAT(Ask(good, STDERR_FILENO, 2), StartsWith("error: "));
  EXPECT_THAT(Ask(good, STDERR_FILENO, 4), StartsWith("error: "));
  EXPECT_EQ(Live({"1", "train", "0", "/"}), "1 train - / clean 1");
}

TEST_F(ForkServerTest, ARefusedRequestLeavesNoDescriptorOpenInTheServer) {
  std::array<int, 2> pipe_ends = {};
  ASSERT_EQ(pipe2(pipe_ends.data(), O_CLOEXEC), 0);
  EXPECT_THAT(Ask("x", pipe_ends[1], 2), StartsWith("error: "));
  close(pipe_ends[1]);
  // Only when the server has closed its copies does the pipe end.
  pollfd wait = {pipe_ends[0], POLLIN, 0};
  ASSERT_EQ(poll(&wait, 1, 10'000), 1);
  char byte = 0;
  EXPECT_EQ(read(pipe_ends[0], &byte, 1), 0);
  close(pipe_ends[0]);
}

TEST_F(ForkServerTest, EndsWithStatusZeroWhenTheHarnessIsGone) {
  const std::string request = Joined({"x"});
  ASSERT_GT(send(socket_, request.data(), request.size(), 0), 0);  // its answer finds nobody
  EXPECT_EQ(End(), 0);
}

TEST(RunMainTest, WithoutTheVariableTheTrainingRunsAndTheWarmUpDoesNot) {
  unsetenv("REPRISE_FORK_SERVER_FD");
  char name[] = "train";
  char* arguments[] = {name, nullptr};
  const auto train = [](int argc, char**) { return argc + 40; };
  EXPECT_EQ(reprise_run_main(1, arguments, train, [] { FAIL(); }), 41);
}

TEST(RunMainTest, ADescriptorThatIsNotOpenIsAnError) {
  char name[] = "train";
  char* arguments[] = {name, nullptr};
  const auto train = [](int, char**) { return 0; };
  for (const char* bad : {"", "x", "-1", "999999", "99999999999999999999"}) {
    setenv("REPRISE_FORK_SERVER_FD", bad, 1);
    testing::internal::CaptureStderr();
    EXPECT_EQ(reprise_run_main(1, arguments, train, nullptr), 1) << bad;
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("not an open descriptor"));
  }
  unsetenv("REPRISE_FORK_SERVER_FD");
}

}  // namespace
}  // namespace reprise
