// The harness's side of the fork server; protocol "reprise.fork/1" in probes/c/fork_server.h.
//
// The server is a tracee too: never block on its answer, it may be in a stop that only the tracer
// can end. So requests and answers are non-blocking here, and the caller runs the tracer in
// between.

#ifndef REPRISE_HARNESS_PROCESS_FORK_SERVER_H_
#define REPRISE_HARNESS_PROCESS_FORK_SERVER_H_

#include <linux/filter.h>
#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/base/unique_fd.h"
#include "harness/process/rank_environment.h"

namespace reprise {

struct ForkRequest {
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  std::string folder;
  int input = -1;  // descriptors, not owned
  int output = -1;
  int error = -1;
};

class ForkServer {
 public:
  // Starts the program; it is not ready before its first answer, "ready".
  static Result<std::unique_ptr<ForkServer>> Start(const std::string& program,
                                                   const Environment& environment,
                                                   const std::vector<sock_filter>& filter);

  [[nodiscard]] pid_t Pid() const { return pid_; }
  [[nodiscard]] int Socket() const { return socket_.Get(); }

  Status Send(const ForkRequest& request);

  // Next answer, if there is one already.
  std::optional<std::string> Receive();

  // The last lines that the server wrote to its standard output and error, for error messages.
  [[nodiscard]] std::string OutputTail() const;

  // What exec(2) reported, once the server has ended: 0 or an errno value.
  int ExecError();

 private:
  ForkServer() = default;

  pid_t pid_ = 0;
  UniqueFd socket_;
  UniqueFd output_;  // an unnamed file
  UniqueFd exec_error_;
};

}  // namespace reprise

#endif  // REPRISE_HARNESS_PROCESS_FORK_SERVER_H_
