#include "harness/process/worker_pool.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <vector>

#include "harness/base/unique_fd.h"
#include "harness/process/stop.h"

namespace reprise {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kMaxResultBytes = std::uint64_t{256} << 20;
constexpr int kPollMilliseconds = 200;  // how soon a stop request is seen when no worker reports
constexpr milliseconds kStopGrace{5'000};

bool SendAll(int fd, const void* data, std::size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t n = send(fd, at, size, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n <= 0) {
      return false;
    }
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

bool ReceiveAll(int fd, void* data, std::size_t size) {
  char* at = static_cast<char*>(data);
  while (size > 0) {
    const ssize_t n = recv(fd, at, size, 0);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n <= 0) {
      return false;
    }
    at += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

// The loop of a worker: index in, length and text out, until the parent closes the socket.
[[noreturn]] void ServeWork(int fd, const std::function<Work()>& make_work) {
  const Work work = make_work();
  std::uint64_t index = 0;
  while (ReceiveAll(fd, &index, sizeof(index))) {
    const std::string result = work(index);
    const std::uint64_t size = result.size();
    if (!SendAll(fd, &size, sizeof(size)) || !SendAll(fd, result.data(), result.size())) {
      break;
    }
  }
  // Without destructors: what they would end belongs to this process alone and ends with it.
  _exit(0);
}

struct Worker {
  pid_t pid = -1;
  UniqueFd socket;
  std::optional<std::size_t> index;  // in work
};

class Pool {
 public:
  Pool(std::size_t count, const std::function<Work()>& make_work, const OnWorkDone& on_done)
      : count_(count), make_work_(make_work), on_done_(on_done) {}

  ~Pool() { EndWorkers(); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  Status Run(int jobs) {
    const auto wanted = std::min(static_cast<std::size_t>(std::max(jobs, 1)), count_);
    while (workers_.size() < wanted) {
      REPRISE_RETURN_IF_ERROR(StartWorker());
      HandOut(&workers_.back());
    }
    while (AnyInWork()) {
      if (StopRequested()) {
        return Fail(ErrorCode::kDeadline, "interrupted");
      }
      REPRISE_RETURN_IF_ERROR(AwaitOne());
    }
    return {};
  }

 private:
  Status StartWorker() {
    std::array<int, 2> pair = {-1, -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair.data()) != 0) {
      return FailErrno(errno, "cannot create a socket for a worker");
    }
    UniqueFd ours(pair[0]);
    UniqueFd theirs(pair[1]);
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid < 0) {
      return FailErrno(errno, "cannot start a worker process");
    }
    if (pid == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) {
        _exit(1);
      }
      for (Worker& sibling : workers_) {
        sibling.socket.Reset();
      }
      ours.Reset();
      ServeWork(theirs.Get(), make_work_);
    }
    workers_.push_back({pid, std::move(ours), std::nullopt});
    return {};
  }

  // Leaves the worker idle when nothing is left.
  void HandOut(Worker* worker) {
    worker->index.reset();
    if (stopped_ || next_ >= count_) {
      return;
    }
    worker->index = next_++;
    const std::uint64_t index = *worker->index;
    SendAll(worker->socket.Get(), &index, sizeof(index));  // a dead worker shows in AwaitOne
  }

  [[nodiscard]] bool AnyInWork() const {
    return std::any_of(workers_.begin(), workers_.end(),
                       [](const Worker& worker) { return worker.index.has_value(); });
  }

  Status AwaitOne() {
    std::vector<pollfd> sockets;
    for (const Worker& worker : workers_) {
      sockets.push_back({worker.index ? worker.socket.Get() : -1, POLLIN, 0});
    }
    const int ready = poll(sockets.data(), sockets.size(), kPollMilliseconds);
    if (ready < 0 && errno != EINTR) {
      return FailErrno(errno, "cannot wait for workers");
    }
    for (std::size_t i = 0; ready > 0 && i < sockets.size(); ++i) {
      if (sockets[i].revents != 0) {
        REPRISE_RETURN_IF_ERROR(Collect(i));
      }
    }
    return {};
  }

  Status Collect(std::size_t i) {
    const std::size_t index = *workers_[i].index;
    std::uint64_t size = 0;
    std::string text;
    bool alive =
        ReceiveAll(workers_[i].socket.Get(), &size, sizeof(size)) && size <= kMaxResultBytes;
    if (alive) {
      text.resize(size);
      alive = ReceiveAll(workers_[i].socket.Get(), text.data(), size);
    }
    if (alive) {
      stopped_ = !on_done_(index, std::move(text)) || stopped_;
      HandOut(&workers_[i]);
      return {};
    }
    Result<std::string> death = Fail(ErrorCode::kSystem, Bury(&workers_[i]));
    workers_.erase(workers_.begin() + static_cast<std::ptrdiff_t>(i));
    stopped_ = !on_done_(index, std::move(death)) || stopped_;
    if (!stopped_ && next_ < count_) {
      REPRISE_RETURN_IF_ERROR(StartWorker());
      HandOut(&workers_.back());
    }
    return {};
  }

  static std::string Bury(Worker* worker) {
    int status = 0;
    kill(worker->pid, SIGKILL);
    while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFSIGNALED(status)
               ? fmt::format("the worker process was ended by signal {}", WTERMSIG(status))
               : fmt::format("the worker process ended with status {}", WEXITSTATUS(status));
  }

  // Idle workers end when their socket closes; working ones are asked, then killed.
  void EndWorkers() {
    const auto deadline = std::chrono::steady_clock::now() + kStopGrace;
    for (Worker& worker : workers_) {
      worker.socket.Reset();
      if (worker.index) {
        kill(worker.pid, SIGTERM);
      }
    }
    for (Worker& worker : workers_) {
      while (waitpid(worker.pid, nullptr, WNOHANG) == 0) {
        if (std::chrono::steady_clock::now() > deadline) {
          Bury(&worker);
          break;
        }
        poll(nullptr, 0, 5);
      }
    }
  }

  std::size_t count_;
  const std::function<Work()>& make_work_;
  const OnWorkDone& on_done_;
  std::vector<Worker> workers_;
  std::size_t next_ = 0;
  bool stopped_ = false;
};

}  // namespace

Status RunInWorkers(std::size_t count, int jobs, const std::function<Work()>& make_work,
                    const OnWorkDone& on_done) {
  return Pool(count, make_work, on_done).Run(jobs);
}

}  // namespace reprise
