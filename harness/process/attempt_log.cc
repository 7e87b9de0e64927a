#include "harness/process/attempt_log.h"

#include <fmt/format.h>

#include <utility>

#include "harness/base/check.h"

namespace reprise {
namespace {

bool EndsSave(std::string_view type) {
  return type == "step" || type == "restored" || type == "ready";
}

}  // namespace

std::string RecordType(std::string_view line) {
  // The writer puts "t" first, but a reader must not depend on it; the key is searched outside of
  // strings only as far as that is needed for flat leading fields.
  constexpr std::string_view kKey = "\"t\":";
  const std::size_t at = line.find(kKey);
  if (at == std::string_view::npos) {
    return {};
  }
  const std::size_t open = line.find_first_not_of(' ', at + kKey.size());
  if (open == std::string_view::npos || line[open] != '"') {
    return {};
  }
  const std::size_t close = line.find('"', open + 1);
  return close == std::string_view::npos ? std::string()
                                         : std::string(line.substr(open + 1, close - open - 1));
}

AttemptLog::AttemptLog(int world) : ranks_(static_cast<std::size_t>(world)) {}

OperationAddress AttemptLog::NextAddress(int rank) {
  Rank& state = ranks_[static_cast<std::size_t>(rank)];
  if (state.new_save) {
    state.new_save = false;
    ++state.save;
    state.next = 0;
  }
  return {rank, state.save, state.next++};
}

void AttemptLog::ReturnAddress(const OperationAddress& address) {
  Rank& state = ranks_[static_cast<std::size_t>(address.rank)];
  if (state.save == address.save && state.next == address.n + 1) {
    state.next = address.n;
  }
}

void AttemptLog::AddOperation(Operation operation) {
  ++ranks_[static_cast<std::size_t>(operation.address.rank)].operation_count;
  events_.emplace_back(OperationEvent{std::move(operation)});
}

std::int64_t AttemptLog::OperationCountWithout(int rank) const {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    count += static_cast<int>(i) == rank ? 0 : ranks_[i].operation_count;
  }
  return count;
}

void AttemptLog::AddFault(std::string injector, std::string what) {
  events_.emplace_back(FaultEvent{std::move(injector), std::move(what)});
}

std::vector<std::string> AttemptLog::AddLogbookBytes(int rank, const FileKey& file,
                                                     std::string_view bytes) {
  LineSplitter& splitter = logbooks_.try_emplace(file, kMaxRecordBytes).first->second;
  std::vector<std::string> lines = splitter.Add(bytes);
  for (const std::string& line : lines) {
    events_.emplace_back(RecordEvent{rank, line});
    if (EndsSave(RecordType(line))) {
      ranks_[static_cast<std::size_t>(rank)].new_save = true;
    }
  }
  if (splitter.TooLongCount() > 0) {
    AddBlindSpot(fmt::format("rank {}: logbook records longer than {} bytes were left out", rank,
                             kMaxRecordBytes));
  }
  return lines;
}

AttemptLog::Stream& AttemptLog::StreamOf(int rank, int stream) {
  REPRISE_CHECK(stream == 1 || stream == 2, std::to_string(stream));
  return ranks_[static_cast<std::size_t>(rank)].streams[static_cast<std::size_t>(stream - 1)];
}

bool AttemptLog::WantsOutput(int rank, int stream) const {
  return ranks_[static_cast<std::size_t>(rank)]
             .streams[static_cast<std::size_t>(stream - 1)]
             .kept_bytes < kMaxOutputBytes;
}

void AttemptLog::AddOutputBytes(int rank, int stream, std::string_view bytes) {
  Stream& state = StreamOf(rank, stream);
  state.kept_bytes += bytes.size();
  for (std::string& line : state.lines.Add(bytes)) {
    events_.emplace_back(OutputEvent{rank, stream, std::move(line)});
  }
}

void AttemptLog::CountOutput(int rank, int stream, std::int64_t count_bytes) {
  StreamOf(rank, stream).seen_bytes += count_bytes;
}

std::int64_t AttemptLog::OutputSeen(int rank, int stream) const {
  return ranks_[static_cast<std::size_t>(rank)]
      .streams[static_cast<std::size_t>(stream - 1)]
      .seen_bytes;
}

void AttemptLog::AddBlindSpot(const std::string& what) { blind_spots_.insert(what); }

void AttemptLog::CountBlindSpot(const std::string& what) { ++counted_[what]; }

void AttemptLog::NoteStreamLimit(int rank, int stream) {
  const Stream& state = StreamOf(rank, stream);
  if (state.kept_bytes >= kMaxOutputBytes || state.lines.TooLongCount() > 0) {
    AddBlindSpot(fmt::format(
        "rank {}: of {} bytes on {} only the lines of the first {} bytes are kept", rank,
        state.seen_bytes, stream == 1 ? "standard output" : "standard error", kMaxOutputBytes));
  }
}

void AttemptLog::Finish(AttemptResult& result) {
  for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) {
    for (const int stream : {1, 2}) {
      std::string rest = StreamOf(rank, stream).lines.TakeRest();
      if (!rest.empty() && WantsOutput(rank, stream)) {  // else it is cut off at the limit
        events_.emplace_back(OutputEvent{rank, stream, std::move(rest)});
      }
      NoteStreamLimit(rank, stream);
    }
  }
  result.events = std::move(events_);
  result.blind_spots.assign(blind_spots_.begin(), blind_spots_.end());
  for (const auto& [what, count] : counted_) {
    result.blind_spots.push_back(fmt::format("{} ({} times)", what, count));
  }
}

}  // namespace reprise
