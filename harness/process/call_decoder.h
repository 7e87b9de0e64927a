// Turns the registers of a stopped tracee into a PendingCall at its entry, and completes it at its
// exit, when result, offset and data are known.

#ifndef REPRISE_HARNESS_PROCESS_CALL_DECODER_H_
#define REPRISE_HARNESS_PROCESS_CALL_DECODER_H_

#include <sys/types.h>
#include <sys/user.h>

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/process/path_resolver.h"
#include "harness/process/pending_call.h"

namespace reprise {

struct WatchedPlaces {
  std::string checkpoint;  // real paths of folders
  std::string logbook;
  std::map<FileKey, std::pair<int, int>> outputs;  // rank and stream (1, 2) of each output file
  bool record_data = true;
};

class CallDecoder {
 public:
  explicit CallDecoder(WatchedPlaces places) : places_(std::move(places)) {}

  // Nothing: the call concerns no watched file. Address and result are not known yet.
  std::optional<PendingCall> AtEntry(pid_t tid, const user_regs_struct& registers);

  // Operations that the completed call stands for: one, or several where a whole folder was renamed
  // in. REQUIRES: IsOperation(); the thread is at the exit stop.
  std::vector<Operation> AtExit(pid_t tid, PendingCall call, std::int64_t result);

  // The bytes that a completed write of `length_bytes` has written, from the writer's memory.
  static std::string WrittenBytes(pid_t tid, const PendingCall& call, std::size_t length_bytes);

  // Is the open file of this descriptor below a watched folder?
  Place PlaceOfDescriptor(pid_t tid, int fd);

 private:
  struct Name {
    Place place = Place::kNone;
    std::string path;  // relative to the checkpoint folder; empty: no name any more
  };

  bool DecodeOpen(pid_t tid, PendingCall& call);
  bool DecodeDescriptor(pid_t tid, PendingCall& call);
  bool DecodePaths(pid_t tid, PendingCall& call);
  void DecodeSizes(pid_t tid, PendingCall& call) const;
  void ReadWriteVectors(pid_t tid, PendingCall& call) const;

  void FinishOpen(pid_t tid, PendingCall& call, std::int64_t result);
  void FinishWrite(pid_t tid, PendingCall& call, std::int64_t result);
  void FinishPaths(PendingCall& call);
  [[nodiscard]] std::int64_t OffsetOfWrite(pid_t tid, const PendingCall& call,
                                           std::int64_t result) const;

  [[nodiscard]] Place PlaceOfPath(const std::string& real_path) const;
  [[nodiscard]] std::string NameOfPath(const std::string& real_path) const;
  Name NameOfDescriptor(pid_t tid, int fd, const FileFacts& facts);

  WatchedPlaces places_;
  // Names below the checkpoint folder of inodes seen there: hard links, files renamed away.
  std::map<FileKey, std::string> known_;
};

}  // namespace reprise

#endif  // REPRISE_HARNESS_PROCESS_CALL_DECODER_H_
