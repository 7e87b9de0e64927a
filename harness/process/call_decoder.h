// Turns the registers of a stopped tracee into a PendingCall at its entry, and completes it at its
// exit, when result, offset and data are known.

#ifndef REPRISE_HARNESS_PROCESS_CALL_DECODER_H_
#define REPRISE_HARNESS_PROCESS_CALL_DECODER_H_

#include <sys/types.h>
#include <sys/user.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/process/pending_call.h"
#include "harness/process/watched_names.h"

namespace reprise {

class CallDecoder {
 public:
  explicit CallDecoder(WatchedPlaces places) : places_(std::move(places)), names_(places_) {}
  CallDecoder(const CallDecoder&) = delete;
  CallDecoder& operator=(const CallDecoder&) = delete;
  ~CallDecoder() = default;

  // Nothing: the call concerns no watched file. Address and result are not known yet.
  std::optional<PendingCall> AtEntry(pid_t tid, const user_regs_struct& registers);

  // Operations that the completed call stands for: one, or several where a whole folder was renamed
  // in. REQUIRES: IsOperation(); the thread is at the exit stop.
  std::vector<Operation> AtExit(pid_t tid, PendingCall call, std::int64_t result);

  // The bytes that a completed write of `length_bytes` has written, from the writer's memory.
  static std::string WrittenBytes(pid_t tid, const PendingCall& call, std::size_t length_bytes);

  // What could not be recorded since the last call, in words.
  std::vector<std::string> TakeRemarks() { return std::exchange(remarks_, {}); }

  // Is the open file of this descriptor below a watched folder?
  Place PlaceOfDescriptor(pid_t tid, int fd);

 private:
  bool DecodeOpen(pid_t tid, PendingCall& call);
  bool DecodeDescriptor(pid_t tid, PendingCall& call);
  bool DecodePaths(pid_t tid, PendingCall& call);
  void DecodeSecondPath(pid_t tid, PendingCall& call);
  void NamePath(PendingCall& call, const std::optional<FileFacts>& facts);
  void DecodeSizes(pid_t tid, PendingCall& call) const;
  void ReadWriteVectors(pid_t tid, PendingCall& call) const;

  void FinishOpen(pid_t tid, PendingCall& call, std::int64_t result);
  void FinishWrite(pid_t tid, PendingCall& call, std::int64_t result);
  void FinishPaths(PendingCall& call);
  void FinishName(PendingCall& call, const FileFacts& facts);
  std::vector<Operation> ReceiveArrival(const PendingCall& call);
  [[nodiscard]] std::int64_t OffsetOfWrite(pid_t tid, const PendingCall& call,
                                           std::int64_t result) const;

  WatchedPlaces places_;
  WatchedNames names_;
  std::vector<std::string> remarks_;
};

}  // namespace reprise

#endif  // REPRISE_HARNESS_PROCESS_CALL_DECODER_H_
