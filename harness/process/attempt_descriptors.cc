// Where the open files of the watched folders lie among the descriptors of a tracee, and files that
// are open already when they come into the checkpoint folder.

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "harness/process/attempt_run.h"

namespace reprise {
namespace {

constexpr int kLastStandardDescriptor = 2;

bool ClosesOnExec(const PendingCall& call) {
  if (call.shape->role == CallRole::kOpen) {
    return (call.open_flags & O_CLOEXEC) != 0;
  }
  return call.shape->number == SYS_fcntl && call.Argument(1) == F_DUPFD_CLOEXEC;
}

bool ChoosesOwnNumber(const PendingCall& call) {
  return call.shape->number == SYS_dup2 || call.shape->number == SYS_dup3;
}

bool MayWrite(pid_t pid, int fd) {
  const auto state = ReadDescriptorState(pid, fd);
  return state && (state->flags & O_ACCMODE) != O_RDONLY;
}

}  // namespace

void AttemptRun::MoveWatchedDescriptor(const Tracee& tracee, const PendingCall& call,
                                       user_regs_struct registers) {
  const auto result = static_cast<long>(registers.rax);
  const bool is_low = result >= 0 && result < kFirstWatchedDescriptor;
  if (!is_low || decoder_.PlaceOfDescriptor(tracee.tid, static_cast<int>(result)) == Place::kNone) {
    return;
  }
  if (result > kLastStandardDescriptor && !ChoosesOwnNumber(call)) {
    const std::optional<long> moved =
        MoveDescriptor(tracee.tid, registers, static_cast<int>(result), ClosesOnExec(call));
    if (!moved) {
      return;  // the thread has ended
    }
    if (*moved >= 0) {
      registers.rax = static_cast<unsigned long long>(*moved);
      ptrace(PTRACE_SETREGS, tracee.tid, nullptr, &registers);
      return;
    }
  }
  WatchLowDescriptor(tracee, registers, static_cast<int>(result));
}

// The descriptor has to stay low: a number that the program has chosen, or a limit of descriptors
// below ours. From now on this process stops at writes to the standard descriptors, or to all
// others, sockets too.
void AttemptRun::WatchLowDescriptor(const Tracee& tracee, const user_regs_struct& registers,
                                    int fd) {
  const bool is_standard = fd <= kLastStandardDescriptor;
  auto& watched = is_standard ? standard_watched_ : low_watched_;
  if (!watched.insert(tracee.group).second) {
    return;
  }
  const std::optional<long> added =
      AddFilter(tracee.tid, registers,
                is_standard ? filters_.standard_descriptors : filters_.low_descriptors);
  if (added && *added != 0) {
    log_.AddBlindSpot(fmt::format(
        "rank {}: a file of the checkpoint or logbook folder is open at a number below {}, and its "
        "writes could not be watched (errno {})",
        tracee.rank, kFirstWatchedDescriptor, -*added));
  }
}

// Descriptors that were opened when their files lay outside are at low numbers.
void AttemptRun::WatchArrived(const Tracee& tracee, const user_regs_struct& registers) {
  const std::set<FileKey> arrived = std::exchange(arrived_, {});
  for (const pid_t group : tracees_.Groups(std::nullopt)) {
    for (const int fd : OpenDescriptors(group)) {
      const auto facts = FactsOfPath(DescriptorLink(group, fd));
      if (fd >= kFirstWatchedDescriptor || !facts || !arrived.contains(facts->key) ||
          !MayWrite(group, fd)) {
        continue;
      }
      if (group == tracee.group) {
        WatchLowDescriptor(tracee, registers, fd);
      } else {
        log_.AddBlindSpot(fmt::format(
            "rank {}: a file was moved into the checkpoint folder while another process had it "
            "open for writing; what that one writes from then on may be missed",
            tracee.rank));
      }
    }
  }
}

std::set<FileKey> AttemptRun::MappedFiles() const {
  std::set<FileKey> files;
  for (const pid_t group : tracees_.Groups(std::nullopt)) {
    files.merge(SharedMappings(group));
  }
  return files;
}

}  // namespace reprise
