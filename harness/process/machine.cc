#include "harness/process/machine.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <sstream>

#include "harness/base/unique_fd.h"
#include "harness/process/child_wait.h"
#include "harness/process/filter.h"
#include "harness/process/launch_child.h"
#include "harness/process/proc_files.h"
#include "harness/process/watched_calls.h"

namespace reprise {
namespace {

MachineFact Fact(std::string name, bool ok, std::string detail, std::string lost,
                 bool required = false) {
  return {std::move(name), ok, std::move(detail), ok ? std::string() : std::move(lost), required};
}

std::string FirstLine(const std::string& path) {
  const std::string text = ReadSmallFile(path);
  return text.substr(0, text.find('\n'));
}

MachineFact KernelFact() {
  utsname name{};
  uname(&name);
  int major = 0;
  int minor = 0;
  // NOLINTNEXTLINE(cert-err34-c): no number leaves 0
  std::sscanf(name.release, "%d.%d", &major, &minor);
  const bool new_enough = major > 4 || (major == 4 && minor >= 8);
  const bool ok = new_enough && std::string(name.machine) == "x86_64";
  return Fact("kernel", ok, fmt::format("Linux {} on {}", name.release, name.machine),
              "tracing needs Linux 4.8 or newer on x86-64; nothing can be run", true);
}

// One life of a tiny program under filter and tracer.
Status TryTracing() {
  REPRISE_ASSIGN_OR_RETURN(const std::vector<sock_filter> filter, BuildFilter(WatchedCalls()));
  const UniqueFd nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  REPRISE_ASSIGN_OR_RETURN(const Child child, LaunchChild({.program = "/bin/true",
                                                           .arguments = {"true"},
                                                           .environment = {},
                                                           .folder = "",
                                                           .input = nothing.Get(),
                                                           .output = nothing.Get(),
                                                           .error = nothing.Get(),
                                                           .filter = &filter}));
  ChildWait wait;
  bool saw_stop = false;
  for (int i = 0; i < 100; ++i) {
    const auto report = wait.Next(std::chrono::milliseconds(100));
    if (report && report->tid == child.pid && report->HasEnded()) {
      const bool good = WIFEXITED(report->status) && WEXITSTATUS(report->status) == 0 && saw_stop;
      return good ? Status() : Fail(ErrorCode::kUnsupported, "a traced program did not run");
    }
    if (report && report->tid == child.pid) {
      saw_stop = true;  // its exec; no further stop is of interest
      ptrace(PTRACE_CONT, child.pid, nullptr, nullptr);
    }
  }
  kill(child.pid, SIGKILL);
  waitpid(child.pid, nullptr, __WALL);
  return Fail(ErrorCode::kDeadline, "a traced program did not end within 10 s");
}

MachineFact TracingFact() {
  const Status tried = TryTracing();
  return Fact("ptrace and seccomp", tried.has_value(),
              tried ? "a program was run under tracer and filter" : tried.error().ToString(),
              "nothing can be run; a container needs --cap-add=SYS_PTRACE and a seccomp profile "
              "that allows ptrace",
              true);
}

MachineFact TracerFact() {
  const std::string status = ReadSmallFile("/proc/self/status");
  const std::size_t at = status.find("TracerPid:");
  const int tracer = at == std::string::npos ? 0 : std::atoi(status.c_str() + at + 10);  // NOLINT
  return Fact("not traced itself", tracer == 0,
              tracer == 0 ? "no debugger or strace is attached"
                          : fmt::format("process {} traces reprise", tracer),
              "children are traced by that process too, so reprise cannot trace them", true);
}

MachineFact YamaFact() {
  const std::string scope = FirstLine("/proc/sys/kernel/yama/ptrace_scope");
  const bool ok = scope.empty() || scope == "0" || scope == "1" || (scope == "2" && geteuid() == 0);
  return Fact("yama ptrace_scope", ok, scope.empty() ? "not present" : scope,
              "ptrace is restricted: set kernel.yama.ptrace_scope to 1 or run as root");
}

MachineFact IoUringFact() {
  const std::string disabled = FirstLine("/proc/sys/kernel/io_uring_disabled");
  const std::string state = disabled.empty()  ? "state not known to this kernel"
                            : disabled == "0" ? "enabled"
                                              : "disabled by the administrator";
  return Fact("io_uring", true, state + "; targets get ENOSYS and fall back to calls that are seen",
              "");
}

MachineFact DescriptorFact() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return Fact("open files", limit.rlim_cur > kFirstWatchedDescriptor,
              fmt::format("limit {}", limit.rlim_cur),
              fmt::format("with a limit of at most {} all writes of a target are stopped, network "
                          "traffic too, which is slow: raise `ulimit -n`",
                          kFirstWatchedDescriptor));
}

// Mount point of cgroup v2, which need not be /sys/fs/cgroup.
std::string CgroupFolder() {
  std::istringstream mounts(ReadSmallFile("/proc/self/mounts", 1U << 20U));
  std::string device;
  std::string folder;
  std::string type;
  std::string rest;
  while (mounts >> device >> folder >> type && std::getline(mounts, rest)) {
    if (type == "cgroup2") {
      return folder;
    }
  }
  return {};
}

MachineFact CgroupFact() {
  const std::string folder = CgroupFolder();
  const bool writable = !folder.empty() && access(folder.c_str(), W_OK) == 0;
  return Fact("cgroup v2", true,
              folder.empty() ? "not mounted; kills do not need it"
                             : fmt::format("{} ({}); kills do not need it", folder,
                                           writable ? "writable" : "not writable"),
              "");
}

MachineFact PrivilegeFact() {
  const std::string namespaces = FirstLine("/proc/sys/user/max_user_namespaces");
  const bool user_namespaces = !namespaces.empty() && namespaces != "0";
  const bool ok = geteuid() == 0 || user_namespaces;
  return Fact("private folders", ok,
              geteuid() == 0    ? "root"
              : user_namespaces ? "user namespaces"
                                : "neither root nor user namespaces",
              "a command with a built-in checkpoint folder cannot get a private copy: it must take "
              "{ckpt}");
}

MachineFact SizeFact() {
  const long cores = sysconf(_SC_NPROCESSORS_ONLN);
  struct sysinfo info {};
  sysinfo(&info);
  const std::uint64_t memory_mib = std::uint64_t{info.totalram} * info.mem_unit >> 20U;
  return Fact("size", memory_mib >= 1024,
              fmt::format("{} cores, {} MiB of memory", cores, memory_mib),
              "less than 1 GiB of memory: two ranks of a libtorch training may not fit");
}

MachineFact VectorFact() {
  const char* level = "SSE2";
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")) {
    level = "AVX-512";
  } else if (__builtin_cpu_supports("avx2")) {
    level = "AVX2";
  }
  return Fact("vector instructions", true,
              std::string(level) + "; results of libtorch depend on it: compare on like machines",
              "");
}

}  // namespace

std::vector<MachineFact> ExamineMachine() {
  return {KernelFact(),     TracerFact(), TracingFact(),   YamaFact(), IoUringFact(),
          DescriptorFact(), CgroupFact(), PrivilegeFact(), SizeFact(), VectorFact()};
}

}  // namespace reprise
