#include "harness/process/cut_write.h"

#include <sys/ptrace.h>

#include <string>

#include "harness/process/tracee_memory.h"

namespace reprise {
namespace {

bool SetArgument(pid_t tid, user_regs_struct& registers, int position, std::uint64_t value) {
  unsigned long long* const slots[] = {&registers.rdi, &registers.rsi, &registers.rdx,
                                       &registers.r10, &registers.r8,  &registers.r9};
  *slots[position] = value;
  return ptrace(PTRACE_SETREGS, tid, nullptr, &registers) == 0;
}

// Vectors before the cut, the last of them shortened. The caller's array is changed in place: it is
// killed when the write is done.
bool CutVectors(pid_t tid, user_regs_struct& registers, const PendingCall& call,
                std::int64_t bytes) {
  std::uint64_t left = static_cast<std::uint64_t>(bytes);
  for (std::size_t i = 0; i < call.vectors.size(); ++i) {
    if (left <= call.vectors[i].iov_len) {
      const iovec cut = {call.vectors[i].iov_base, left};
      const std::string text(reinterpret_cast<const char*>(&cut), sizeof(cut));
      return WriteMemory(tid, call.Argument(call.shape->buffer) + i * sizeof(iovec), text) &&
             SetArgument(tid, registers, call.shape->count, i + 1);
    }
    left -= call.vectors[i].iov_len;
  }
  return false;
}

}  // namespace

bool CutWrite(pid_t tid, user_regs_struct registers, const PendingCall& call, std::int64_t bytes) {
  switch (call.shape->role) {
    case CallRole::kWrite:
    case CallRole::kCopy:
      return SetArgument(tid, registers, call.shape->count, static_cast<std::uint64_t>(bytes));
    case CallRole::kWriteVector:
      return CutVectors(tid, registers, call, bytes);
    case CallRole::kOpen:
    case CallRole::kDescriptor:
    case CallRole::kSync:
    case CallRole::kPath:
    case CallRole::kMap:
    case CallRole::kClone:
    case CallRole::kDuplicate:
    case CallRole::kDenied:
    case CallRole::kTold:
      return false;
  }
  return false;
}

}  // namespace reprise
