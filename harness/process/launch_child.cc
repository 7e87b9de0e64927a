#include "harness/process/launch_child.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>

namespace reprise {
namespace {

// All that the child needs, laid out before the fork.
struct Prepared {
  const char* program;
  char* const* arguments;
  char* const* environment;
  const char* folder;
  int streams[3];
  int inherited;
  int gate;   // the parent writes one byte when it has seized the child
  int error;  // gets errno of what failed
  sock_fprog filter;
};

[[noreturn]] void GiveUp(int error_pipe) {
  const int error = errno;
  [[maybe_unused]] const ssize_t ignored = write(error_pipe, &error, sizeof(error));
  _exit(127);
}

void ResetSignals() {
  for (int signal_number = 1; signal_number < NSIG; ++signal_number) {
    // Fails for the two that cannot be set.
    signal(signal_number, SIG_DFL);  // NOLINT(concurrency-mt-unsafe): a child has one thread
  }
  sigset_t none;
  sigemptyset(&none);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): a child has one thread
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// In the child. A gate that closes without a byte means that the parent is gone.
[[noreturn]] void RunChild(const Prepared& prepared) {
  char byte = 0;
  ssize_t got = 0;
  do {
    got = read(prepared.gate, &byte, 1);
  } while (got < 0 && errno == EINTR);
  if (got != 1) {
    _exit(127);
  }
  setsid();
  ResetSignals();
  for (int i = 0; i < 3; ++i) {
    if (dup2(prepared.streams[i], i) < 0) {
      GiveUp(prepared.error);
    }
  }
  if (prepared.inherited >= 0) {
    fcntl(prepared.inherited, F_SETFD, 0);
  }
  if (prepared.folder != nullptr && chdir(prepared.folder) != 0) {
    GiveUp(prepared.error);
  }
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prepared.filter) != 0) {
    GiveUp(prepared.error);
  }
  execve(prepared.program, prepared.arguments, prepared.environment);
  GiveUp(prepared.error);
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) {
    pointers.push_back(const_cast<char*>(text.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

Result<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return FailErrno(errno, "pipe2");
  }
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// Descriptors 0 to 2 are overwritten in the child, so what it needs must not lie there.
Result<UniqueFd> AboveStreams(int fd) {
  UniqueFd copy(fcntl(fd, F_DUPFD_CLOEXEC, 3));
  if (!copy.IsValid()) {
    return FailErrno(errno, "duplicating a descriptor for a rank");
  }
  return copy;
}

Status SeizeAndRelease(pid_t pid, int gate) {
  if (ptrace(PTRACE_SEIZE, pid, nullptr, TraceOptions()) != 0) {
    const int error = errno;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, __WALL);
    return Fail(error == EPERM ? ErrorCode::kUnsupported : ErrorCode::kSystem,
                std::string("ptrace(PTRACE_SEIZE) of a child failed (errno ") +
                    std::to_string(error) +
                    "): reprise itself is traced (strace, gdb), or ptrace is forbidden here; "
                    "`reprise doctor` says what this machine allows");
  }
  if (write(gate, "x", 1) != 1) {
    return FailErrno(errno, "releasing a child");
  }
  return {};
}

bool IsProgram(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         access(path.c_str(), X_OK) == 0;
}

}  // namespace

long TraceOptions() {
  return PTRACE_O_TRACESECCOMP | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
         PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
}

Result<Child> LaunchChild(const ChildSpec& spec) {
  REPRISE_ASSIGN_OR_RETURN(Pipe gate, MakePipe());
  REPRISE_ASSIGN_OR_RETURN(Pipe error, MakePipe());
  REPRISE_ASSIGN_OR_RETURN(const UniqueFd input, AboveStreams(spec.input));
  REPRISE_ASSIGN_OR_RETURN(const UniqueFd output, AboveStreams(spec.output));
  REPRISE_ASSIGN_OR_RETURN(const UniqueFd errors, AboveStreams(spec.error));
  REPRISE_ASSIGN_OR_RETURN(const UniqueFd gate_end, AboveStreams(gate.read_end.Get()));
  REPRISE_ASSIGN_OR_RETURN(const UniqueFd error_end, AboveStreams(error.write_end.Get()));
  const std::vector<char*> arguments = Pointers(spec.arguments);
  const std::vector<char*> environment = Pointers(spec.environment);
  const Prepared prepared = {.program = spec.program.c_str(),
                             .arguments = arguments.data(),
                             .environment = environment.data(),
                             .folder = spec.folder.empty() ? nullptr : spec.folder.c_str(),
                             .streams = {input.Get(), output.Get(), errors.Get()},
                             .inherited = spec.inherited,
                             .gate = gate_end.Get(),
                             .error = error_end.Get(),
                             .filter = {static_cast<unsigned short>(spec.filter->size()),
                                        const_cast<sock_filter*>(spec.filter->data())}};
  const pid_t pid = fork();
  if (pid < 0) {
    return FailErrno(errno, "fork");
  }
  if (pid == 0) {
    close(gate.write_end.Get());  // else the child would keep its own gate open
    RunChild(prepared);
  }
  REPRISE_RETURN_IF_ERROR(SeizeAndRelease(pid, gate.write_end.Get()));
  return Child{pid, std::move(error.read_end)};
}

Result<std::string> FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    if (!IsProgram(name)) {
      return Fail(ErrorCode::kNotFound, "no executable file of this name", name);
    }
    return name;
  }
  const char* const path = getenv("PATH");  // NOLINT(concurrency-mt-unsafe): we are single-threaded
  std::string_view rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  while (!rest.empty() && !name.empty()) {
    const std::size_t colon = rest.find(':');
    const std::string candidate = std::string(rest.substr(0, colon)) + "/" + name;
    if (IsProgram(candidate)) {
      return candidate;
    }
    rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 1);
  }
  return Fail(ErrorCode::kNotFound, "no program \"" + name + "\" in PATH", name);
}

}  // namespace reprise
