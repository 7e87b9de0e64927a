// Starts one program as a tracee: fork, seize, filter, exec. The only file with code between fork
// and exec; there, only async-signal-safe calls (signal-safety(7)).

#ifndef REPRISE_HARNESS_PROCESS_LAUNCH_CHILD_H_
#define REPRISE_HARNESS_PROCESS_LAUNCH_CHILD_H_

#include <linux/filter.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/base/unique_fd.h"

namespace reprise {

struct ChildSpec {
  std::string program;  // path
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  // "KEY=VALUE", complete
  std::string folder;                    // empty: the current one
  int input = -1;                        // descriptors, not owned
  int output = -1;
  int error = -1;
  int inherited = -1;  // stays open over exec under the same number; -1: none
  const std::vector<sock_filter>* filter = nullptr;
};

struct Child {
  pid_t pid = 0;
  // Readable when exec failed (an errno as int); at its end when exec succeeded.
  UniqueFd exec_error;
};

// Options of every tracee: all descendants are traced, and nothing survives the tracer.
long TraceOptions();

// The child runs in its own session, under ptrace(2), and has passed its gate: its first stop is
// that of its exec. Fails with kUnsupported when ptrace is not permitted, kSystem else; then no
// child is left.
Result<Child> LaunchChild(const ChildSpec& spec);

// The path that execvp(3) would choose. kNotFound with what was looked for.
Result<std::string> FindProgram(const std::string& name);

}  // namespace reprise

#endif  // REPRISE_HARNESS_PROCESS_LAUNCH_CHILD_H_
