#include "probes/c/logbook_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "probes/c/digest.h"
#include "probes/c/start_environment.h"

namespace reprise::probe {
namespace {

constexpr std::size_t kMaxRecordBytes = std::size_t{16} << 20;  // with the newline; docs/logbook.md
constexpr std::int64_t kMaxRank = 1'000'000;

// The value of an environment variable, or null. Read only while the logbook is opened.
const char* Variable(const char* name) {
  return std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
}

void Say(const std::string& message) {
  const std::string line = "reprise probe: " + message + "\n";
  // A failing write to standard error has nobody left to be told.
  [[maybe_unused]] const ssize_t n = write(STDERR_FILENO, line.data(), line.size());
}

// The value of an integer variable; `fallback` when unset. False when it is no integer in the
// range.
bool IntegerVariable(const char* name, std::int64_t fallback, std::int64_t* value) {
  const char* const text = Variable(name);
  *value = fallback;
  if (text == nullptr) {
    return true;
  }
  const char* const end = text + std::strlen(text);
  const auto [stop, error] = std::from_chars(text, end, *value);
  if (error == std::errc() && stop == end && *value >= 0 && *value <= kMaxRank) {
    return true;
  }
  Say(std::string(name) + "=" + text +
      ": expected an integer from 0 to 1000000; nothing is recorded");
  return false;
}

bool IsReading(std::string_view reading) {
  return reading == "request" || reading == "restored" || reading == "ready" || reading == "step";
}

const char* TextOrEmpty(const char* text) { return text == nullptr ? "" : text; }

// Description of a tensor, as an entry of a names record.
std::string Describe(const reprise_tensor& tensor) {
  std::string out = "{\"component\":";
  AppendJsonString(TextOrEmpty(tensor.component), &out);
  out += ",\"kind\":";
  AppendJsonString(tensor.kind, &out);
  out += ",\"path\":";
  AppendJsonString(tensor.path, &out);
  out += ",\"dtype\":";
  AppendJsonString(tensor.dtype, &out);
  out += ",\"shape\":";
  AppendJsonIntegers(tensor.global_shape, tensor.dimension_count, &out);
  out += ",\"offsets\":";
  AppendJsonIntegers(tensor.offsets, tensor.dimension_count, &out);
  out += ",\"extents\":";
  AppendJsonIntegers(tensor.extents, tensor.dimension_count, &out);
  out += ",\"replica\":[" + std::to_string(tensor.replica_index) + "," +
         std::to_string(tensor.replica_count) + "]";
  if (*TextOrEmpty(tensor.alias_of) != '\0') {
    out += ",\"alias_of\":";
    AppendJsonString(tensor.alias_of, &out);
  }
  out += "}";
  return out;
}

// True when the library may read the view; else `problem` says why not.
bool IsReadable(const reprise_tensor& tensor, std::string* problem) {
  if (tensor.kind == nullptr || tensor.path == nullptr || tensor.dtype == nullptr) {
    *problem = "a tensor without kind, path or dtype";
    return false;
  }
  const std::string key = std::string(tensor.kind) + "/" + tensor.path;
  if (ElementSize(tensor.dtype) == 0) {
    *problem = "the tensor " + key + " has the unknown dtype " + tensor.dtype;
    return false;
  }
  const bool boxed =
      tensor.dimension_count == 0 ||
      (tensor.global_shape != nullptr && tensor.offsets != nullptr && tensor.extents != nullptr);
  if (!boxed) {
    *problem = "the tensor " + key + " has a shape and a box of different dimensions";
    return false;
  }
  if (tensor.replica_index < 0 || tensor.replica_index >= tensor.replica_count) {
    *problem = "the tensor " + key + " has a replica index outside of its replica count";
    return false;
  }
  return true;
}

// Checks the views and digests them. False, with the reason in `problem`, at the first that is
// unsound.
bool DigestAll(const reprise_tensor* tensors, std::size_t count,
               std::vector<reprise_digest_sum>* sums, std::string* problem) {
  for (std::size_t i = 0; i < count; ++i) {
    const reprise_tensor& tensor = tensors[i];
    if (!IsReadable(tensor, problem)) {
      return false;
    }
    reprise_digest_sum sum = {};
    if (reprise_digest_box(&sum, tensor.data, ElementSize(tensor.dtype), tensor.dimension_count,
                           tensor.global_shape, tensor.offsets, tensor.extents) != 0) {
      *problem = std::string("the tensor ") + tensor.kind + "/" + tensor.path +
                 " has no data, or a box that does not fit into its shape";
      return false;
    }
    sums->push_back(sum);
  }
  return true;
}

}  // namespace

LogbookWriter::~LogbookWriter() {
  if (fd_ >= 0) {
    close(fd_);
  }
}

std::unique_ptr<LogbookWriter> LogbookWriter::Open(const std::string& folder) {
  std::unique_ptr<LogbookWriter> log(new LogbookWriter);
  log->folder_ = folder;
  if (!IntegerVariable("RANK", 0, &log->rank_) || !IntegerVariable("WORLD_SIZE", 1, &log->world_) ||
      !IntegerVariable("REPRISE_ATTEMPT", 0, &log->attempt_)) {
    return nullptr;
  }
  if (log->rank_ >= log->world_) {
    Say("RANK=" + std::to_string(log->rank_) +
        " is not below WORLD_SIZE=" + std::to_string(log->world_) + "; nothing is recorded");
    return nullptr;
  }
  const std::string path = log->folder_ + "/rank-" + std::to_string(log->rank_) + ".jsonl";
  log->fd_ = open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  struct stat status = {};
  if (log->fd_ < 0 || fstat(log->fd_, &status) != 0) {
    Say("cannot open " + path + ": " + std::generic_category().message(errno) +
        "; nothing is recorded");
    return nullptr;
  }
  if (status.st_size > 0) {
    Say(path +
        " already holds records: each attempt needs a folder of its own; nothing is recorded");
    return nullptr;
  }
  if (const char* const text = Variable("REPRISE_CAPTURE"); text != nullptr && *text != '\0') {
    std::string problem;
    log->capture_ = CaptureRequest::Parse(text, &problem);
    if (!log->capture_) {
      Say("REPRISE_CAPTURE: " + problem +
          "; expected steps=20,21;names=exp_avg/*,weight/blocks.0*; nothing is captured");
    }
  }
  return log;
}

void LogbookWriter::Fail(const std::string& why) {
  if (active_) {
    active_ = false;
    Say(why + "; from here on nothing is recorded, the training goes on");
  }
}

void LogbookWriter::Abandon() noexcept {
  static constexpr std::string_view kMessage =
      "reprise probe: memory is short; from here on nothing is recorded, the training goes on\n";
  if (active_) {
    active_ = false;
    [[maybe_unused]] const ssize_t n = write(STDERR_FILENO, kMessage.data(), kMessage.size());
  }
}

void LogbookWriter::WriteLine(const std::string& line) {
  if (!active_) {
    return;
  }
  if (line.size() > kMaxRecordBytes) {
    Fail("a record of " + std::to_string(line.size()) + " bytes is above the limit of 16 MiB");
    return;
  }
  ssize_t n = -1;
  do {
    n = write(fd_, line.data(), line.size());
  } while (n < 0 && errno == EINTR);
  if (n < 0) {
    Fail("cannot write the logbook: " + std::generic_category().message(errno));
  } else if (static_cast<std::size_t>(n) != line.size()) {
    Fail("only " + std::to_string(n) + " of " + std::to_string(line.size()) +
         " bytes of a record could be written");
  }
}

void LogbookWriter::Start(const std::map<std::string, std::string>& environment) {
  if (started_) {
    Fail("a second start record");
    return;
  }
  started_ = true;
  std::map<std::string, std::string> all = environment;
  all.merge(StartEnvironment());  // what the trainer says wins
  WriteLine(RecordText("start")
                .String("schema", "reprise.logbook/1")
                .Integer("rank", rank_)
                .Integer("world", world_)
                .Integer("attempt", attempt_)
                .Json("environment", JsonPairs(all))
                .Finish());
}

void LogbookWriter::Write(RecordText record) {
  if (!started_) {
    Start({});
  }
  WriteLine(record.Finish());
}

bool LogbookWriter::NumberTensors(const reprise_tensor* tensors, std::size_t count,
                                  std::vector<int>* numbers) {
  std::vector<std::string> fresh;
  std::set<int> used;
  for (std::size_t i = 0; i < count; ++i) {
    const reprise_tensor& tensor = tensors[i];
    std::string description = Describe(tensor);
    const auto [entry, is_new] =
        numbers_.try_emplace(description, static_cast<int>(numbers_.size()));
    if (!used.insert(entry->second).second) {
      Fail(std::string("the tensor ") + tensor.kind + "/" + tensor.path + " is given twice");
      return false;
    }
    if (is_new) {
      fresh.push_back(std::move(description));
    }
    numbers->push_back(entry->second);
  }
  WriteNames(fresh);
  return active_;
}

void LogbookWriter::WriteNames(const std::vector<std::string>& descriptions) {
  std::size_t next = 0;
  while (next < descriptions.size() && active_) {
    std::string list = "[" + descriptions[next++];
    while (next < descriptions.size() &&
           list.size() + descriptions[next].size() + 64 < kMaxRecordBytes) {
      list += "," + descriptions[next++];
    }
    Write(RecordText("names").Json("tensors", list + "]"));
  }
}

void LogbookWriter::Capture(const std::string& reading, std::int64_t step,
                            const reprise_tensor* tensors, std::size_t count) {
  if (!capture_) {
    return;
  }
  const std::string trouble =
      WriteCapture(*capture_, {.folder = folder_, .rank = rank_, .reading = reading, .step = step},
                   tensors, count);
  if (!trouble.empty()) {
    Say(trouble + "; this capture is lost");
  }
}

void LogbookWriter::State(const std::string& reading, std::int64_t step,
                          const reprise_tensor* tensors, std::size_t count,
                          const std::map<std::string, std::string>& scalars) {
  if (!IsReading(reading)) {
    Fail("a state with the unknown reading \"" + reading + "\"");
    return;
  }
  std::vector<reprise_digest_sum> sums;
  std::string problem;
  if (!DigestAll(tensors, count, &sums, &problem)) {
    Fail(problem);
    return;
  }
  std::vector<int> numbers;
  if (!NumberTensors(tensors, count, &numbers)) {
    return;
  }
  // The scalars stand in the first record of a reading; room is left for them.
  std::string scalars_text = JsonPairs(scalars);
  std::size_t next = 0;
  do {
    const std::size_t limit =
        kMaxRecordBytes - std::min(kMaxRecordBytes, scalars_text.size() + 256);
    std::string list = "[";
    while (next < count && (list.size() == 1 || list.size() < limit)) {
      list += (list.size() > 1 ? ",[" : "[") + std::to_string(numbers[next]) + ",\"" +
              HexText(sums[next].a) + "\",\"" + HexText(sums[next].b) + "\"]";
      ++next;
    }
    Write(RecordText("state")
              .String("reading", reading)
              .Integer("step", step)
              .Json("tensors", list + "]")
              .Json("scalars", scalars_text));
    scalars_text = "{}";
  } while (next < count && active_);
  Capture(reading, step, tensors, count);
}

}  // namespace reprise::probe
