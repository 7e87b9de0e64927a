// The one sequence of an attempt while it grows: records, output lines, operations and faults in
// the order in which they were witnessed, the addresses of operations, and what could not be
// observed.
//
// Bounded: a flood of output costs at most kMaxOutputBytes per stream of a rank; what comes after
// it is counted and said.

#ifndef REPRISE_HARNESS_PROCESS_ATTEMPT_LOG_H_
#define REPRISE_HARNESS_PROCESS_ATTEMPT_LOG_H_

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/model/attempt.h"
#include "harness/process/line_splitter.h"
#include "harness/process/proc_files.h"

namespace reprise {

constexpr std::size_t kMaxRecordBytes = 16U << 20U;
constexpr std::size_t kMaxOutputBytes = 1U << 20U;  // of kept lines, per rank and stream

class AttemptLog {
 public:
  explicit AttemptLog(int world);

  // The address of the operation that a rank begins now. Failed operations count too.
  OperationAddress NextAddress(int rank);
  // The operation was interrupted before it did anything, and will be made again.
  void ReturnAddress(const OperationAddress& address);

  void AddOperation(Operation operation);
  // Operations that ranks other than this one have made.
  [[nodiscard]] std::int64_t OperationCountWithout(int rank) const;
  void AddFault(std::string injector, std::string what);

  // Bytes that reached the logbook file `file`; returns the records that they complete, which are
  // in the sequence now. A record of a completed step, of a restore or of being ready ends the
  // save.
  std::vector<std::string> AddLogbookBytes(int rank, const FileKey& file, std::string_view bytes);

  // True while bytes of this stream are still kept, else they need not be read at all.
  [[nodiscard]] bool WantsOutput(int rank, int stream) const;
  void AddOutputBytes(int rank, int stream, std::string_view bytes);
  void CountOutput(int rank, int stream, std::int64_t count_bytes);
  [[nodiscard]] std::int64_t OutputSeen(int rank, int stream) const;

  // Said once, however often it happens.
  void AddBlindSpot(const std::string& what);
  // Facts that are counted: "… (27 times)".
  void CountBlindSpot(const std::string& what);

  // Ends the sequence: output without a last newline, counts. Nothing may be added afterwards.
  void Finish(AttemptResult& result);

 private:
  struct Stream {
    LineSplitter lines{kMaxOutputBytes};
    std::size_t kept_bytes = 0;
    std::int64_t seen_bytes = 0;
  };
  struct Rank {
    int save = -1;
    int next = 0;
    bool new_save = true;  // the next operation begins a save
    std::int64_t operation_count = 0;
    std::array<Stream, 2> streams;
  };

  Stream& StreamOf(int rank, int stream);
  void NoteStreamLimit(int rank, int stream);

  std::vector<Rank> ranks_;
  std::vector<AttemptEvent> events_;
  std::map<FileKey, LineSplitter> logbooks_;
  std::set<std::string> blind_spots_;
  std::map<std::string, int> counted_;
};

// Type of a logbook record, its "t" field; empty when the line has none.
std::string RecordType(std::string_view line);

}  // namespace reprise

#endif  // REPRISE_HARNESS_PROCESS_ATTEMPT_LOG_H_
