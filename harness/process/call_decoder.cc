#include "harness/process/call_decoder.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <sys/syscall.h>

#include <cstring>
#include <filesystem>

#include "harness/base/files.h"
#include "harness/process/arrival.h"
#include "harness/process/path_resolver.h"
#include "harness/process/tracee_memory.h"

namespace reprise {
namespace {

constexpr std::uint64_t kNoAppendFlag = 0x20;  // RWF_NOAPPEND, newer than the headers here

bool OpensForWriting(int flags) {
  return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0;
}

// Flags and mode of an open, wherever the call has them.
void ReadOpenFlags(pid_t tid, PendingCall& call) {
  const CallShape& shape = *call.shape;
  call.open_flags = static_cast<int>(call.Argument(shape.flags));
  call.operation.mode = static_cast<unsigned>(call.Argument(shape.mode));
  if (shape.number == SYS_creat) {
    call.open_flags = O_CREAT | O_WRONLY | O_TRUNC;
  } else if (shape.number == SYS_openat2) {
    open_how how{};
    const std::string bytes = ReadMemory(tid, call.Argument(shape.buffer), sizeof(how));
    std::memcpy(&how, bytes.data(), bytes.size());
    call.open_flags = static_cast<int>(how.flags);
    call.operation.mode = static_cast<unsigned>(how.mode);
  }
}

bool FollowsLastLink(const PendingCall& call) {
  switch (call.operation.kind) {
    case OperationKind::kOpen:
      return (call.open_flags & O_NOFOLLOW) == 0 &&
             (call.open_flags & (O_CREAT | O_EXCL)) != (O_CREAT | O_EXCL);
    case OperationKind::kTruncate:
      return true;
    case OperationKind::kAttributes:
      return call.shape->number != SYS_lchown;
    case OperationKind::kLink:
      return (call.Argument(call.shape->flags) & AT_SYMLINK_FOLLOW) != 0;
    case OperationKind::kWrite:
    case OperationKind::kAllocate:
    case OperationKind::kSync:
    case OperationKind::kSyncRange:
    case OperationKind::kRename:
    case OperationKind::kSymlink:
    case OperationKind::kUnlink:
    case OperationKind::kMakeFolder:
    case OperationKind::kRemoveFolder:
    case OperationKind::kMapShared:
      return false;
  }
  return false;
}

// Path in argument `position`, real. An empty or absent path means the folder descriptor itself.
std::string RealPathOf(pid_t tid, const PendingCall& call, int folder_position, int position,
                       bool follow) {
  const int folder =
      folder_position < 0 ? AT_FDCWD : static_cast<int>(call.Argument(folder_position));
  const std::string text = ReadPath(tid, call.Argument(position)).value_or("");
  if (text.empty() && folder != AT_FDCWD) {
    return ReadLink(DescriptorLink(tid, folder)).value_or("");
  }
  return ResolvePath({.tid = tid, .folder = folder, .text = text, .follow = follow});
}

// A mapping of a file that was opened for reading can never be written through; one that is not
// writable yet may become so (mprotect).
bool MayBeWritten(pid_t tid, const PendingCall& call) {
  const DescriptorState state = ReadDescriptorState(tid, call.fd).value_or(DescriptorState{});
  return (state.flags & O_ACCMODE) == O_RDWR;
}

std::string ReadBack(pid_t tid, int fd, std::int64_t offset_bytes, std::int64_t length_bytes) {
  const auto bytes =
      ReadFileRange(DescriptorLink(tid, fd), static_cast<std::uint64_t>(offset_bytes),
                    static_cast<std::uint64_t>(length_bytes));
  return bytes ? *bytes : std::string();
}

}  // namespace

std::optional<PendingCall> CallDecoder::AtEntry(pid_t tid, const user_regs_struct& registers) {
  const CallShape* const shape = FindWatchedCall(static_cast<long>(registers.orig_rax));
  if (shape == nullptr) {
    return std::nullopt;
  }
  PendingCall call;
  call.shape = shape;
  call.arguments = ArgumentsOf(registers);
  call.operation.kind = shape->kind;
  call.operation.call = shape->name;
  bool concerns_us = false;
  switch (shape->role) {
    case CallRole::kOpen:
      concerns_us = DecodeOpen(tid, call);
      break;
    case CallRole::kPath:
      concerns_us = DecodePaths(tid, call);
      break;
    case CallRole::kWrite:
    case CallRole::kWriteVector:
    case CallRole::kCopy:
    case CallRole::kDescriptor:
    case CallRole::kSync:
    case CallRole::kMap:
    case CallRole::kClone:
    case CallRole::kDuplicate:
      concerns_us = DecodeDescriptor(tid, call);
      break;
    case CallRole::kDenied:
    case CallRole::kTold:
      break;
  }
  return concerns_us ? std::optional<PendingCall>(std::move(call)) : std::nullopt;
}

bool CallDecoder::DecodeOpen(pid_t tid, PendingCall& call) {
  ReadOpenFlags(tid, call);
  if (!OpensForWriting(call.open_flags)) {
    return false;
  }
  call.real_path =
      RealPathOf(tid, call, call.shape->folder, call.shape->path, FollowsLastLink(call));
  const std::optional<FileFacts> facts = FactsOfPath(call.real_path);
  if (facts) {
    call.key = facts->key;
  }
  Operation& operation = call.operation;
  NamePath(call, facts);
  const bool unnamed = (call.open_flags & O_TMPFILE) == O_TMPFILE;
  if (unnamed) {
    operation.path.clear();
  }
  operation.creates = unnamed || ((call.open_flags & O_CREAT) != 0 && !facts);
  operation.truncates = (call.open_flags & O_TRUNC) != 0;
  operation.excludes = (call.open_flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
  return call.place != Place::kNone;
}

bool CallDecoder::DecodeDescriptor(pid_t tid, PendingCall& call) {
  if (call.shape->fd < 0) {  // sync
    call.place = Place::kCheckpoint;
    return true;
  }
  call.fd = static_cast<int>(call.Argument(call.shape->fd));
  const std::optional<FileFacts> facts = FactsOfPath(DescriptorLink(tid, call.fd));
  if (!facts) {
    return false;
  }
  call.key = facts->key;
  if (call.shape->number == SYS_syncfs) {
    const std::optional<FileFacts> folder = FactsOfPath(places_.checkpoint);
    call.place = Place::kCheckpoint;
    return folder && folder->key.device == facts->key.device;
  }
  if (!facts->is_regular && call.shape->role != CallRole::kSync) {
    return false;
  }
  if (call.shape->role == CallRole::kMap && !MayBeWritten(tid, call)) {
    return false;
  }
  const auto output = places_.outputs.find(facts->key);
  if (output != places_.outputs.end()) {
    call.place = Place::kOutput;
    std::tie(call.stream_rank, call.stream) = output->second;
  } else {
    WatchedNames::Name name = names_.NameOfDescriptor(tid, call.fd, *facts);
    call.place = name.place;
    call.operation.path = std::move(name.path);
  }
  if (call.place != Place::kNone) {
    DecodeSizes(tid, call);
  }
  return call.place != Place::kNone;
}

void CallDecoder::DecodeSizes(pid_t tid, PendingCall& call) const {
  const CallShape& shape = *call.shape;
  Operation& operation = call.operation;
  operation.device = call.key.device;
  operation.inode = call.key.inode;
  operation.offset_bytes = static_cast<std::int64_t>(call.Argument(shape.offset));
  operation.mode = static_cast<unsigned>(call.Argument(shape.mode));
  operation.length_bytes =
      static_cast<std::int64_t>(call.Argument(shape.size >= 0 ? shape.size : shape.count));
  ReadWriteVectors(tid, call);
}

void CallDecoder::ReadWriteVectors(pid_t tid, PendingCall& call) const {
  const CallShape& shape = *call.shape;
  if (shape.role == CallRole::kWrite) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): an address in the tracee
    void* const buffer = reinterpret_cast<void*>(call.Argument(shape.buffer));
    call.vectors = {{buffer, call.Argument(shape.count)}};
  } else if (shape.role == CallRole::kWriteVector) {
    call.vectors = ReadVectors(tid, call.Argument(shape.buffer), call.Argument(shape.count));
    call.operation.length_bytes = 0;
    for (const iovec& part : call.vectors) {
      call.operation.length_bytes += static_cast<std::int64_t>(part.iov_len);
    }
  }
}

// The path of the call, and the place that it names.
void CallDecoder::NamePath(PendingCall& call, const std::optional<FileFacts>& facts) {
  call.place = names_.PlaceOfPath(call.real_path);
  call.operation.path = names_.NameOfPath(call.real_path);
  const std::string* const other =
      call.place == Place::kNone && facts ? names_.OtherName(*facts) : nullptr;
  if (other != nullptr) {
    call.place = Place::kCheckpoint;
    call.operation.path = *other;
  }
}

void CallDecoder::DecodeSecondPath(pid_t tid, PendingCall& call) {
  const CallShape& shape = *call.shape;
  Operation& operation = call.operation;
  call.second_real_path = RealPathOf(tid, call, shape.second_folder, shape.second_path, false);
  operation.second_path = names_.NameOfPath(call.second_real_path);
  if (names_.PlaceOfPath(call.second_real_path) == Place::kCheckpoint) {
    call.place = Place::kCheckpoint;
  }
  operation.creates = !FactsOfPath(call.second_real_path, false);
  if (shape.number != SYS_renameat2) {
    return;
  }
  const std::uint64_t flags = call.Argument(shape.flags);
  operation.excludes = (flags & RENAME_NOREPLACE) != 0;
  operation.exchanges = (flags & RENAME_EXCHANGE) != 0;
  if (operation.exchanges && operation.second_path.starts_with('/')) {
    // An exchange has no direction; one with the outside is told as an arrival.
    std::swap(operation.path, operation.second_path);
    std::swap(call.real_path, call.second_real_path);
  }
}

bool CallDecoder::DecodePaths(pid_t tid, PendingCall& call) {
  const CallShape& shape = *call.shape;
  Operation& operation = call.operation;
  if (operation.kind == OperationKind::kOpen) {  // mknod
    call.open_flags = O_CREAT | O_EXCL;
    operation.creates = true;
    operation.excludes = true;
  }
  if (operation.kind == OperationKind::kSymlink) {
    operation.path = ReadPath(tid, call.Argument(shape.path)).value_or("");
  } else {
    call.real_path = RealPathOf(tid, call, shape.folder, shape.path, FollowsLastLink(call));
    NamePath(call, operation.kind == OperationKind::kTruncate ? FactsOfPath(call.real_path)
                                                              : std::nullopt);
  }
  if (shape.second_path >= 0) {
    DecodeSecondPath(tid, call);
  }
  if (call.place != Place::kCheckpoint) {
    return false;
  }
  if (const auto facts = FactsOfPath(call.real_path, false)) {
    call.key = facts->key;
    operation.device = facts->key.device;
    operation.inode = facts->key.inode;
  }
  operation.mode = static_cast<unsigned>(call.Argument(shape.mode));
  operation.length_bytes = static_cast<std::int64_t>(call.Argument(shape.size));
  if (shape.number == SYS_unlinkat && (call.Argument(shape.flags) & AT_REMOVEDIR) != 0) {
    operation.kind = OperationKind::kRemoveFolder;
  }
  return true;
}

std::vector<Operation> CallDecoder::AtExit(pid_t tid, PendingCall call, std::int64_t result) {
  call.operation.result = result;
  if (result < 0) {
    call.operation.length_bytes =
        call.operation.kind == OperationKind::kWrite ? 0 : call.operation.length_bytes;
    return {std::move(call.operation)};
  }
  switch (call.shape->role) {
    case CallRole::kOpen:
      FinishOpen(tid, call, result);
      break;
    case CallRole::kWrite:
    case CallRole::kWriteVector:
    case CallRole::kCopy:
    case CallRole::kClone:
      FinishWrite(tid, call, result);
      break;
    case CallRole::kPath:
      FinishPaths(call);
      break;
    case CallRole::kDescriptor:
    case CallRole::kSync:
    case CallRole::kMap:
    case CallRole::kDuplicate:
    case CallRole::kDenied:
    case CallRole::kTold:
      break;
  }
  return BringsIn(call.operation) ? ReceiveArrival(call)
                                  : std::vector<Operation>{std::move(call.operation)};
}

std::vector<Operation> CallDecoder::ReceiveArrival(const PendingCall& call) {
  Arrival arrival = TellArrival(call.operation, call.second_real_path, places_.record_data);
  for (const std::string& what : arrival.left_out) {
    remarks_.push_back("of what was moved into the checkpoint folder, this is not recorded: " +
                       what);
  }
  for (const Operation& operation : arrival.operations) {
    const bool is_new = operation.kind == OperationKind::kOpen;
    if (operation.inode != 0 && (is_new || !operation.second_path.empty())) {
      names_.Learn({operation.device, operation.inode},
                   is_new ? operation.path : operation.second_path);
    }
  }
  return std::move(arrival.operations);
}

void CallDecoder::FinishOpen(pid_t tid, PendingCall& call, std::int64_t result) {
  if (const auto facts = FactsOfPath(DescriptorLink(tid, static_cast<int>(result)))) {
    call.operation.device = facts->key.device;
    call.operation.inode = facts->key.inode;
    call.operation.mode = facts->mode;
    if (!call.operation.path.empty()) {
      names_.Learn(facts->key, call.operation.path);
    }
  }
}

void CallDecoder::FinishWrite(pid_t tid, PendingCall& call, std::int64_t result) {
  Operation& operation = call.operation;
  if (call.shape->role == CallRole::kClone) {
    const bool whole = call.Argument(call.shape->flags) == FICLONE;
    file_clone_range range{};
    if (!whole) {
      const std::string bytes = ReadMemory(tid, call.Argument(2), sizeof(range));
      std::memcpy(&range, bytes.data(), bytes.size());
    }
    const std::int64_t size =
        FactsOfPath(DescriptorLink(tid, call.fd)).value_or(FileFacts{}).size_bytes;
    operation.offset_bytes = static_cast<std::int64_t>(range.dest_offset);
    operation.length_bytes = range.src_length != 0 ? static_cast<std::int64_t>(range.src_length)
                                                   : size - operation.offset_bytes;
  } else {
    operation.offset_bytes = OffsetOfWrite(tid, call, result);
    operation.length_bytes = result;
  }
  if (!places_.record_data) {
    return;
  }
  // The file, not the writer's memory: another thread may have changed that since.
  operation.data = ReadBack(tid, call.fd, operation.offset_bytes, operation.length_bytes);
  if (operation.data.empty()) {  // of a mode that forbids reading
    operation.data = WrittenBytes(tid, call, static_cast<std::size_t>(result));
  }
}

std::int64_t CallDecoder::OffsetOfWrite(pid_t tid, const PendingCall& call,
                                        std::int64_t result) const {
  const CallShape& shape = *call.shape;
  const DescriptorState state = ReadDescriptorState(tid, call.fd).value_or(DescriptorState{});
  const auto given = static_cast<std::int64_t>(call.Argument(shape.offset));
  const std::uint64_t flags = shape.number == SYS_pwritev2 ? call.Argument(shape.flags) : 0;
  const bool appends =
      (flags & RWF_APPEND) != 0 || ((state.flags & O_APPEND) != 0 && (flags & kNoAppendFlag) == 0);
  if (appends) {
    return FactsOfPath(DescriptorLink(tid, call.fd)).value_or(FileFacts{}).size_bytes - result;
  }
  if (shape.offset >= 0 && !(shape.number == SYS_pwritev2 && given == -1)) {
    return given;
  }
  const bool copies_to_offset = shape.role == CallRole::kCopy && call.Argument(shape.buffer) != 0;
  if (copies_to_offset) {  // the kernel has advanced it
    std::int64_t after = 0;
    const std::string bytes = ReadMemory(tid, call.Argument(shape.buffer), sizeof(after));
    std::memcpy(&after, bytes.data(), bytes.size());
    return after - result;
  }
  return state.position - result;
}

void CallDecoder::FinishPaths(PendingCall& call) {
  Operation& operation = call.operation;
  const bool has_two = call.shape->second_path >= 0;
  const std::string& made = has_two ? call.second_real_path : call.real_path;
  const std::optional<FileFacts> facts = FactsOfPath(made, false);
  if (!facts) {
    return;
  }
  switch (operation.kind) {
    case OperationKind::kMakeFolder:
    case OperationKind::kAttributes:
      operation.mode = facts->mode;
      break;
    case OperationKind::kOpen:
    case OperationKind::kRename:
    case OperationKind::kLink:
      FinishName(call, *facts);
      break;
    case OperationKind::kWrite:
    case OperationKind::kTruncate:
    case OperationKind::kAllocate:
    case OperationKind::kSync:
    case OperationKind::kSyncRange:
    case OperationKind::kSymlink:
    case OperationKind::kUnlink:
    case OperationKind::kRemoveFolder:
    case OperationKind::kMapShared:
      break;
  }
}

// A name now means this file.
void CallDecoder::FinishName(PendingCall& call, const FileFacts& facts) {
  Operation& operation = call.operation;
  const bool is_rename = operation.kind == OperationKind::kRename;
  const bool leaves = is_rename && operation.second_path.starts_with('/');
  if (leaves && FactsOfPath(call.real_path, false).value_or(FileFacts{}).key == facts.key) {
    operation.second_path = operation.path;  // two names of one file: rename(2) leaves both
  }
  operation.device = facts.key.device;
  operation.inode = facts.key.inode;
  operation.mode = facts.mode;
  const std::string& name =
      operation.kind == OperationKind::kOpen ? operation.path : operation.second_path;
  if (name.starts_with('/')) {
    return;  // it has left the folder
  }
  if (facts.is_regular) {
    names_.Learn(facts.key, name);
  } else if (is_rename && facts.is_folder) {
    names_.FolderWasRenamed(operation.path, name);
  }
}

std::string CallDecoder::WrittenBytes(pid_t tid, const PendingCall& call,
                                      std::size_t length_bytes) {
  return GatherMemory(tid, call.vectors, length_bytes);
}

Place CallDecoder::PlaceOfDescriptor(pid_t tid, int fd) {
  const std::optional<FileFacts> facts = FactsOfPath(DescriptorLink(tid, fd));
  if (!facts || !facts->is_regular) {
    return Place::kNone;
  }
  return names_.NameOfDescriptor(tid, fd, *facts).place;
}

}  // namespace reprise
