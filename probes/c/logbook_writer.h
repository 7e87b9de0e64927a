// The logbook of one rank: numbers and digests tensors, and puts each record into one write(2).
//
// May throw std::bad_alloc; probes/c/logbook.cc turns that into the end of the recording. Not
// thread-safe.

#ifndef REPRISE_PROBES_C_LOGBOOK_WRITER_H_
#define REPRISE_PROBES_C_LOGBOOK_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "probes/c/capture.h"
#include "probes/c/logbook.h"
#include "probes/c/record_text.h"

namespace reprise::probe {

class LogbookWriter {
 public:
  // Null, after a message, when the file cannot be used.
  static std::unique_ptr<LogbookWriter> Open(const std::string& folder);

  LogbookWriter(const LogbookWriter&) = delete;
  LogbookWriter& operator=(const LogbookWriter&) = delete;
  ~LogbookWriter();

  [[nodiscard]] bool IsActive() const { return active_; }
  void Start(const std::map<std::string, std::string>& environment);
  // Writes a record, after a start record where there is none yet.
  void Write(RecordText record);
  void State(const std::string& reading, std::int64_t step, const reprise_tensor* tensors,
             std::size_t count, const std::map<std::string, std::string>& scalars);
  // Ends the recording because memory is short; allocates nothing.
  void Abandon() noexcept;

 private:
  LogbookWriter() = default;

  // Ends the recording.
  void Fail(const std::string& why);
  void WriteLine(const std::string& line);
  bool NumberTensors(const reprise_tensor* tensors, std::size_t count, std::vector<int>* numbers);
  void WriteNames(const std::vector<std::string>& descriptions);
  void Capture(const std::string& reading, std::int64_t step, const reprise_tensor* tensors,
               std::size_t count);

  std::string folder_;
  int fd_ = -1;
  std::int64_t rank_ = 0;
  std::int64_t world_ = 1;
  std::int64_t attempt_ = 0;
  bool active_ = true;
  bool started_ = false;
  std::unordered_map<std::string, int> numbers_;  // by description
  std::optional<CaptureRequest> capture_;
};

}  // namespace reprise::probe

#endif  // REPRISE_PROBES_C_LOGBOOK_WRITER_H_
