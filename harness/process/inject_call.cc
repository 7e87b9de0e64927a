#include "harness/process/inject_call.h"

#include <fcntl.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <string>

#include "harness/process/tracee_memory.h"
#include "harness/process/watched_calls.h"

namespace reprise {
namespace {

constexpr std::uint64_t kSyscallInstructionBytes = 2;  // 0f 05
constexpr int kMaxOtherStops = 16;                     // group stops that may come in between

// Blocks every signal of a stopped thread, so that no handler starts between our two stops.
class BlockedSignals {
 public:
  explicit BlockedSignals(pid_t tid) : tid_(tid) {
    const std::uint64_t all = ~std::uint64_t{0};
    saved_ok_ = ptrace(PTRACE_GETSIGMASK, tid_, sizeof(saved_), &saved_) == 0;
    if (saved_ok_) {
      ptrace(PTRACE_SETSIGMASK, tid_, sizeof(all), &all);
    }
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  ~BlockedSignals() {
    if (saved_ok_) {
      ptrace(PTRACE_SETSIGMASK, tid_, sizeof(saved_), &saved_);
    }
  }

 private:
  pid_t tid_;
  std::uint64_t saved_ = 0;
  bool saved_ok_ = false;
};

// Runs the thread to its next syscall stop. False when it ended.
bool RunToSyscallStop(pid_t tid) {
  for (int i = 0; i < kMaxOtherStops; ++i) {
    int status = 0;
    siginfo_t info{};
    if (ptrace(PTRACE_SYSCALL, tid, nullptr, nullptr) != 0) {
      return false;
    }
    // An end is left in place, for the tracer's own wait.
    if (waitid(P_PID, static_cast<id_t>(tid), &info, WEXITED | WSTOPPED | WNOWAIT | __WALL) != 0 ||
        info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED) {
      return false;
    }
    if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status)) {
      return false;
    }
    if (WSTOPSIG(status) == (SIGTRAP | 0x80)) {
      return true;
    }
  }
  return false;
}

void SetArguments(user_regs_struct& registers, const CallArguments& arguments) {
  registers.rdi = arguments[0];
  registers.rsi = arguments[1];
  registers.rdx = arguments[2];
  registers.r10 = arguments[3];
  registers.r8 = arguments[4];
  registers.r9 = arguments[5];
}

}  // namespace

CallArguments ArgumentsOf(const user_regs_struct& registers) {
  return {registers.rdi, registers.rsi, registers.rdx, registers.r10, registers.r8, registers.r9};
}

std::optional<long> InjectCall(pid_t tid, const user_regs_struct& registers, long number,
                               const CallArguments& arguments) {
  const BlockedSignals blocked(tid);
  user_regs_struct changed = registers;
  changed.rip -= kSyscallInstructionBytes;
  changed.rax = static_cast<unsigned long long>(number);
  // Not -ERESTART…: the kernel must not rewind over our call too.
  changed.orig_rax = ~0ULL;
  SetArguments(changed, arguments);
  if (ptrace(PTRACE_SETREGS, tid, nullptr, &changed) != 0 || !RunToSyscallStop(tid) ||
      !RunToSyscallStop(tid) || ptrace(PTRACE_GETREGS, tid, nullptr, &changed) != 0) {
    return std::nullopt;
  }
  ptrace(PTRACE_SETREGS, tid, nullptr, &registers);
  return static_cast<long>(changed.rax);
}

std::optional<long> MoveDescriptor(pid_t tid, const user_regs_struct& registers, int low,
                                   bool close_on_exec) {
  const auto from = static_cast<std::uint64_t>(low);
  const auto command = static_cast<std::uint64_t>(close_on_exec ? F_DUPFD_CLOEXEC : F_DUPFD);
  const std::optional<long> moved =
      InjectCall(tid, registers, SYS_fcntl, {from, command, kFirstWatchedDescriptor});
  if (!moved || *moved < 0) {
    return moved;
  }
  if (!InjectCall(tid, registers, SYS_close, {from})) {
    return std::nullopt;
  }
  return moved;
}

std::optional<long> AddFilter(pid_t tid, const user_regs_struct& registers,
                              const std::vector<sock_filter>& program) {
  // Below the stack's red zone, with room for the program and its header.
  const std::size_t size_bytes = program.size() * sizeof(sock_filter);
  const std::uint64_t at = (registers.rsp - 1024 - size_bytes) & ~std::uint64_t{15};
  sock_fprog header{};
  header.len = static_cast<unsigned short>(program.size());
  header.filter = reinterpret_cast<sock_filter*>(at + 64);  // NOLINT: an address over there
  const std::string header_bytes(reinterpret_cast<const char*>(&header), sizeof(header));
  const std::string program_bytes(reinterpret_cast<const char*>(program.data()), size_bytes);
  if (!WriteMemory(tid, at, header_bytes) || !WriteMemory(tid, at + 64, program_bytes)) {
    return -EFAULT;
  }
  return InjectCall(tid, registers, SYS_seccomp,
                    {SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, at});
}

}  // namespace reprise
