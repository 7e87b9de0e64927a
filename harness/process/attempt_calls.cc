#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ptrace.h>

#include <cerrno>
#include <csignal>

#include "harness/process/arrival.h"
#include "harness/process/attempt_run.h"
#include "harness/process/filter.h"
#include "harness/process/tracee_memory.h"
#include "harness/record/logbook_reader.h"

namespace reprise {
namespace {

// A flood of output fills no disk: what goes beyond this is swallowed, as if it had been written.
constexpr std::int64_t kMaxOutputFileBytes = 64LL << 20U;

bool ReadRegisters(pid_t tid, user_regs_struct& registers) {
  return ptrace(PTRACE_GETREGS, tid, nullptr, &registers) == 0;
}

// The kernel's ERESTARTSYS … ERESTART_RESTARTBLOCK: the call was interrupted and will be made
// again.
bool WillRestart(std::int64_t result) { return result <= -512 && result >= -516; }

// The mapping of a file that comes into the folder with it: one of the folder's file from now on.
Operation MappingOf(const Operation& arrival) {
  Operation mapping;
  mapping.kind = OperationKind::kMapShared;
  mapping.address = arrival.address;
  mapping.pid = arrival.pid;
  mapping.call = arrival.call;
  mapping.path = arrival.second_path.empty() ? arrival.path : arrival.second_path;
  mapping.device = arrival.device;
  mapping.inode = arrival.inode;
  mapping.length_bytes = arrival.length_bytes;
  return mapping;
}

// Of a call that the filter stops because its number means something else than ours.
bool IsForeign(pid_t tid) {
  unsigned long message = 0;
  return ptrace(PTRACE_GETEVENTMSG, tid, nullptr, &message) == 0 && message == kForeignCallStop;
}

}  // namespace

void AttemptRun::OnEntry(Tracee& tracee) {
  user_regs_struct registers{};
  if (!ReadRegisters(tracee.tid, registers)) {
    return;
  }
  if (IsForeign(tracee.tid)) {
    Deny(tracee, "calls of 32-bit or x32 code, which cannot be followed", registers);
    return;
  }
  const CallShape* const shape = FindWatchedCall(static_cast<long>(registers.orig_rax));
  if (shape != nullptr && shape->role == CallRole::kDenied) {
    Deny(tracee, shape->name, registers);
    return;
  }
  if (shape != nullptr && shape->role == CallRole::kTold && tracee.rank >= 0) {
    log_.CountBlindSpot(
        fmt::format("rank {} called {}: {}", tracee.rank, shape->name, shape->remark));
  }
  std::optional<PendingCall> call = decoder_.AtEntry(tracee.tid, registers);
  if (!call) {
    Resume(tracee);
    return;
  }
  if (tracee.rank == kServerRank) {
    if (call->place == Place::kCheckpoint && call->shape->fd < 0 && call->shape->path < 0) {
      Resume(tracee);  // sync(2): harmless
      return;
    }
    server_misuse_ = "the target, started as fork server, began to train (it used " +
                     call->real_path + "); it must call reprise_run_main";
    kill(tracee.group, SIGKILL);
    return;
  }
  if (WaitsBehindHold(tracee, *call)) {
    return;
  }
  if (call->IsExclusive() && owner_ != 0) {
    waiting_.push_back(tracee.tid);
    return;
  }
  BeginCall(tracee, std::move(*call), registers);
}

// Answers with ENOSYS; programs fall back to calls that can be seen.
void AttemptRun::Deny(const Tracee& tracee, std::string_view what, user_regs_struct registers) {
  if (tracee.rank >= 0) {
    log_.CountBlindSpot(fmt::format("information: rank {} was denied {}", tracee.rank, what));
  }
  registers.orig_rax = ~0ULL;
  registers.rax = static_cast<unsigned long long>(-ENOSYS);
  ptrace(PTRACE_SETREGS, tracee.tid, nullptr, &registers);
  Resume(tracee);
}

void AttemptRun::BeginCall(Tracee& tracee, PendingCall call, const user_regs_struct& registers) {
  if (call.place == Place::kOutput && SwallowOutput(tracee, call, registers)) {
    return;
  }
  tracee.after_call = Action::Continue();
  if (call.IsOperation() && !BeginOperation(tracee, call, registers)) {
    return;
  }
  if (call.IsExclusive()) {
    owner_ = tracee.tid;
    owner_since_ = Clock::now();
  }
  tracee.call = std::move(call);
  Resume(tracee);
}

// False when the thread does not make its call: it is held or killed.
bool AttemptRun::BeginOperation(Tracee& tracee, PendingCall& call,
                                const user_regs_struct& registers) {
  const int rank = tracee.rank;
  call.operation.pid = tracee.group;
  if (IsReleased(tracee)) {
    call.operation.address = hold_->address;
    hold_.reset();
    return true;
  }
  call.operation.address = log_.NextAddress(rank);
  Action action = AskOnOperation(call.operation);
  if (action.kind == Action::Kind::kContinue) {
    return true;
  }
  if (action.kind == Action::Kind::kHoldRank) {
    BeginHold(tracee, call.operation);
    return false;
  }
  if (PrepareCut(tracee, call, registers, action) == CutOutcome::kKillAfterwards) {
    tracee.after_call = action;
    return true;
  }
  const pid_t tid = tracee.tid;
  return Execute(action, rank) && tracees_.Find(tid) != nullptr;
}

bool AttemptRun::SwallowOutput(const Tracee& tracee, const PendingCall& call,
                               user_regs_struct registers) {
  const bool is_write = !call.vectors.empty();
  if (!is_write || log_.OutputSeen(call.stream_rank, call.stream) < kMaxOutputFileBytes) {
    return false;
  }
  log_.CountOutput(call.stream_rank, call.stream, call.operation.length_bytes);
  log_.AddBlindSpot(fmt::format("rank {}: output beyond {} bytes was swallowed", call.stream_rank,
                                kMaxOutputFileBytes));
  registers.orig_rax = ~0ULL;
  registers.rax = static_cast<unsigned long long>(call.operation.length_bytes);
  ptrace(PTRACE_SETREGS, tracee.tid, nullptr, &registers);
  Resume(tracee);
  return true;
}

void AttemptRun::OnExit(Tracee& tracee) {
  const pid_t tid = tracee.tid;
  const int rank = tracee.rank;
  user_regs_struct registers{};
  if (!tracee.call || !ReadRegisters(tid, registers)) {
    Resume(tracee);
    return;
  }
  const PendingCall call = *tracee.call;
  const Action action = CompleteCall(tracee, registers, true);
  if (action.kind != Action::Kind::kContinue &&
      (!Execute(action, rank) || tracees_.Find(tid) == nullptr)) {
    return;
  }
  if (call.MakesDescriptor()) {
    MoveWatchedDescriptor(tracee, call, registers);
  }
  if (!arrived_.empty()) {
    WatchArrived(tracee, registers);
  }
  Resume(tracee);
  StartNextWaiting();
}

// Logs what the call has done. Returns what is to be done before the thread goes on.
Action AttemptRun::CompleteCall(Tracee& tracee, const user_regs_struct& registers,
                                bool ask_injectors) {
  PendingCall call = std::move(*tracee.call);
  tracee.call.reset();
  if (owner_ == tracee.tid) {
    owner_ = 0;
  }
  const auto result = static_cast<std::int64_t>(registers.rax);
  if (WillRestart(result)) {
    if (call.IsOperation()) {
      log_.ReturnAddress(call.operation.address);
    }
    return tracee.after_call;
  }
  if (call.IsOperation()) {
    AddOperations(tracee, std::move(call), result);
    return tracee.after_call;
  }
  const bool wrote = result > 0 && call.shape->kind == OperationKind::kWrite;
  if (wrote && call.place == Place::kOutput) {
    AddOutput(tracee, call, result);
  } else if (wrote && call.place == Place::kLogbook) {
    return AddRecords(tracee, call, result, ask_injectors);
  }
  return Action::Continue();
}

void AttemptRun::AddOperations(const Tracee& tracee, PendingCall call, std::int64_t result) {
  const bool brings_in = result >= 0 && BringsIn(call.operation);
  const std::set<FileKey> mapped = brings_in ? MappedFiles() : std::set<FileKey>();
  for (Operation& operation : decoder_.AtExit(tracee.tid, std::move(call), result)) {
    const FileKey file = {operation.device, operation.inode};
    std::optional<Operation> mapping;
    // A file of a folder comes as an open and a write.
    if (brings_in && file.inode != 0 && operation.kind != OperationKind::kOpen) {
      arrived_.insert(file);
      mapping = mapped.contains(file) ? std::optional(MappingOf(operation)) : std::nullopt;
    }
    AddOperation(std::move(operation));
    if (mapping) {
      AddOperation(std::move(*mapping));
    }
  }
  for (const std::string& remark : decoder_.TakeRemarks()) {
    log_.AddBlindSpot(fmt::format("rank {}: {}", tracee.rank, remark));
  }
}

void AttemptRun::AddOperation(Operation operation) {
  if (operation.kind == OperationKind::kMapShared && operation.result >= 0) {
    log_.CountBlindSpot(
        fmt::format("rank {} mapped files of the checkpoint folder so that it can write to them "
                    "unseen; the content of these files is not compared",
                    operation.address.rank));
  }
  log_.AddOperation(std::move(operation));
}

Action AttemptRun::AddRecords(const Tracee& tracee, const PendingCall& call, std::int64_t result,
                              bool ask_injectors) {
  const std::string bytes =
      CallDecoder::WrittenBytes(tracee.tid, call, static_cast<std::size_t>(result));
  for (const std::string& line : log_.AddLogbookBytes(tracee.rank, call.key, bytes)) {
    const Action action = ask_injectors ? AskOnRecord(tracee.rank, line) : Action::Continue();
    if (action.kind != Action::Kind::kContinue) {
      return action;
    }
  }
  return Action::Continue();
}

void AttemptRun::AddOutput(const Tracee& tracee, const PendingCall& call, std::int64_t result) {
  log_.CountOutput(call.stream_rank, call.stream, result);
  if (log_.WantsOutput(call.stream_rank, call.stream)) {
    const auto wanted = std::min(static_cast<std::size_t>(result), kMaxOutputBytes);
    log_.AddOutputBytes(call.stream_rank, call.stream,
                        CallDecoder::WrittenBytes(tracee.tid, call, wanted));
  }
}

Action AttemptRun::AskOnOperation(const Operation& operation) {
  for (std::size_t i = 0; i < spec_.injectors.size(); ++i) {
    const Action action = spec_.injectors[i]->OnOperation(operation);
    if (action.kind != Action::Kind::kContinue) {
      asking_ = i;
      return action;
    }
  }
  return Action::Continue();
}

Action AttemptRun::AskOnRecord(int rank, const std::string& line) {
  if (spec_.injectors.empty()) {
    return Action::Continue();
  }
  const Result<LogRecord> record = ParseLogRecord(line, fmt::format("logbook of rank {}", rank));
  if (!record) {
    log_.AddBlindSpot("a line of a logbook is no record: " + record.error().ToString());
    return Action::Continue();
  }
  for (std::size_t i = 0; i < spec_.injectors.size(); ++i) {
    const Action action = spec_.injectors[i]->OnRecord(rank, *record);
    if (action.kind != Action::Kind::kContinue) {
      log_.AddFault(InjectorName(i), fmt::format("{} after a {} record of rank {}",
                                                 DescribeKill(action), RecordType(line), rank));
      return action;
    }
  }
  return Action::Continue();
}

void AttemptRun::GiveUpOwnership(pid_t tid) {
  if (owner_ == tid) {
    owner_ = 0;
    StartNextWaiting();
  }
}

void AttemptRun::StartNextWaiting() {
  while (owner_ == 0 && !waiting_.empty()) {
    const pid_t tid = waiting_.front();
    waiting_.pop_front();
    if (Tracee* const tracee = tracees_.Find(tid)) {
      OnEntry(*tracee);
    }
  }
}

}  // namespace reprise
