#include "probes/c/logbook.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <vector>

#include "probes/c/capture.h"
#include "probes/c/digest.h"
#include "probes/c/record_text.h"
#include "probes/c/start_environment.h"

namespace reprise::probe {
namespace {

constexpr std::size_t kMaxRecordBytes = std::size_t{16} << 20;  // with the newline; docs/logbook.md
constexpr std::int64_t kMaxRank = 1'000'000;

const char* TextOrEmpty(const char* text) { return text == nullptr ? "" : text; }

// The value of an environment variable, or null. Read only while the logbook is opened.
const char* Variable(const char* name) {
  return std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
}

void Say(const std::string& message) {
  const std::string line = "reprise probe: " + message + "\n";
  // A failing write to standard error has nobody left to be told.
  [[maybe_unused]] const ssize_t n = write(STDERR_FILENO, line.data(), line.size());
}

bool IsReading(std::string_view reading) {
  return reading == "request" || reading == "restored" || reading == "ready" || reading == "step";
}

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

std::string PairsText(const std::map<std::string, std::string>& pairs) {
  std::string out = "{";
  for (const auto& [key, value] : pairs) {
    if (out.size() > 1) {
      out += ",";
    }
    AppendJsonString(key, &out);
    out += ":";
    AppendJsonString(value, &out);
  }
  return out + "}";
}

std::map<std::string, std::string> MapOf(const reprise_pair* pairs, std::size_t count) {
  std::map<std::string, std::string> map;
  for (std::size_t i = 0; i < count; ++i) {
    map[TextOrEmpty(pairs[i].key)] = TextOrEmpty(pairs[i].value);
  }
  return map;
}

std::string BitsArray(const double* values, std::size_t count) {
  std::string out = "[";
  for (std::size_t i = 0; i < count; ++i) {
    out += (i == 0 ? "\"" : ",\"") + BitsText(values[i]) + "\"";
  }
  return out + "]";
}

std::string ContentId(const void* data, std::size_t size) {
  const XXH128_hash_t hash = XXH3_128bits(data, size);
  return HexText(hash.high64) + HexText(hash.low64);
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

}  // namespace
}  // namespace reprise::probe

using namespace reprise::probe;  // NOLINT(google-build-using-namespace): definitions of C functions

struct reprise_logbook {
 public:
  // Null, after a message, when the file cannot be used.
  static reprise_logbook* Open(const char* folder);

  reprise_logbook(const reprise_logbook&) = delete;
  reprise_logbook& operator=(const reprise_logbook&) = delete;
  ~reprise_logbook() { close(fd_); }

  bool IsActive() const { return active_; }
  void Start(const std::map<std::string, std::string>& environment);
  // Writes a record, after a start record where there is none yet.
  void Write(RecordText record);
  void State(const std::string& reading, std::int64_t step, const reprise_tensor* tensors,
             std::size_t count, const std::map<std::string, std::string>& scalars);
  // Ends the recording.
  void Fail(const std::string& why);

  std::mutex mutex;

 private:
  reprise_logbook() = default;

  void WriteLine(const std::string& line);
  bool Digest(const reprise_tensor& tensor, reprise_digest_sum* sum);
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

reprise_logbook* reprise_logbook::Open(const char* folder) {
  std::unique_ptr<reprise_logbook> log(new reprise_logbook);
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
  return log.release();
}

void reprise_logbook::Fail(const std::string& why) {
  if (active_) {
    active_ = false;
    Say(why + "; from here on nothing is recorded, the training goes on");
  }
}

void reprise_logbook::WriteLine(const std::string& line) {
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

void reprise_logbook::Start(const std::map<std::string, std::string>& environment) {
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
                .Json("environment", PairsText(all))
                .Finish());
}

void reprise_logbook::Write(RecordText record) {
  if (!started_) {
    Start({});
  }
  WriteLine(record.Finish());
}

bool reprise_logbook::Digest(const reprise_tensor& tensor, reprise_digest_sum* sum) {
  return reprise_digest_box(sum, tensor.data, ElementSize(tensor.dtype), tensor.dimension_count,
                            tensor.global_shape, tensor.offsets, tensor.extents) == 0;
}

bool reprise_logbook::NumberTensors(const reprise_tensor* tensors, std::size_t count,
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

void reprise_logbook::WriteNames(const std::vector<std::string>& descriptions) {
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

void reprise_logbook::Capture(const std::string& reading, std::int64_t step,
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

// True when the library may read the view; else `problem` says why not.
static bool IsReadable(const reprise_tensor& tensor, std::string* problem) {
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

void reprise_logbook::State(const std::string& reading, std::int64_t step,
                            const reprise_tensor* tensors, std::size_t count,
                            const std::map<std::string, std::string>& scalars) {
  if (!IsReading(reading)) {
    Fail("a state with the unknown reading \"" + reading + "\"");
    return;
  }
  std::vector<reprise_digest_sum> sums(count);
  std::string problem;
  for (std::size_t i = 0; i < count; ++i) {
    if (!IsReadable(tensors[i], &problem)) {
      Fail(problem);
      return;
    }
    if (!Digest(tensors[i], &sums[i])) {
      Fail(std::string("the tensor ") + tensors[i].kind + "/" + tensors[i].path +
           " has no data, or a box that does not fit into its shape");
      return;
    }
  }
  std::vector<int> numbers;
  if (!NumberTensors(tensors, count, &numbers)) {
    return;
  }
  // The scalars stand in the first record of a reading; room is left for them.
  std::string scalars_text = PairsText(scalars);
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

// Runs `body` with the lock held; an exception (memory is short) ends the recording, not the
// training.
template <typename Body>
static void Guarded(reprise_logbook* log, Body body) {
  if (log == nullptr) {
    return;
  }
  try {
    const std::lock_guard<std::mutex> lock(log->mutex);
    if (log->IsActive()) {
      body();
    }
  } catch (...) {
    log->Fail("memory is short");
  }
}

static void WriteStep(reprise_logbook* log, const char* type, int64_t step) {
  Guarded(log, [&] { log->Write(RecordText(type).Integer("step", step)); });
}

extern "C" {

reprise_logbook* reprise_logbook_open(void) {
  const char* const folder = Variable("REPRISE_LOGBOOK");
  if (folder == nullptr || *folder == '\0') {
    return nullptr;
  }
  try {
    return reprise_logbook::Open(folder);
  } catch (...) {
    return nullptr;
  }
}

void reprise_logbook_close(reprise_logbook* log) { delete log; }

int reprise_logbook_is_active(reprise_logbook* log) {
  int active = 0;
  Guarded(log, [&] { active = 1; });
  return active;
}

void reprise_log_start(reprise_logbook* log, const reprise_pair* environment, size_t count) {
  Guarded(log, [&] { log->Start(MapOf(environment, count)); });
}

void reprise_log_restored(reprise_logbook* log, int64_t step, const char* checkpoint,
                          const char* const* refused, size_t refused_count) {
  Guarded(log, [&] {
    std::string list = "[";
    for (size_t i = 0; i < refused_count; ++i) {
      list += i == 0 ? "" : ",";
      AppendJsonString(TextOrEmpty(refused[i]), &list);
    }
    log->Write(RecordText("restored")
                   .Integer("step", step)
                   .String("checkpoint", TextOrEmpty(checkpoint))
                   .Json("refused", list + "]"));
  });
}

void reprise_log_ready(reprise_logbook* log, int64_t step) { WriteStep(log, "ready", step); }

void reprise_log_micro(reprise_logbook* log, int64_t step, int64_t micro, int64_t worker,
                       const int64_t* ids, size_t id_count, const void* content,
                       size_t content_bytes) {
  Guarded(log, [&] {
    std::string list;
    AppendJsonIntegers(ids, id_count, &list);
    log->Write(RecordText("micro")
                   .Integer("step", step)
                   .Integer("micro", micro)
                   .Integer("worker", worker)
                   .Json("ids", list)
                   .String("content", ContentId(content, content_bytes)));
  });
}

void reprise_log_optimizer(reprise_logbook* log, int64_t step) {
  WriteStep(log, "optimizer", step);
}

void reprise_log_step(reprise_logbook* log, int64_t step, float loss, const double* learning_rate,
                      size_t learning_rate_count, const double* weight_decay,
                      size_t weight_decay_count) {
  Guarded(log, [&] {
    log->Write(RecordText("step")
                   .Integer("step", step)
                   .String("loss", BitsText(loss))
                   .Json("learning_rate", BitsArray(learning_rate, learning_rate_count))
                   .Json("weight_decay", BitsArray(weight_decay, weight_decay_count)));
  });
}

void reprise_log_state(reprise_logbook* log, const char* reading, int64_t step,
                       const reprise_tensor* tensors, size_t tensor_count,
                       const reprise_pair* scalars, size_t scalar_count) {
  Guarded(log, [&] {
    log->State(TextOrEmpty(reading), step, tensors, tensor_count, MapOf(scalars, scalar_count));
  });
}

void reprise_log_save_begin(reprise_logbook* log, int64_t step) {
  WriteStep(log, "save_begin", step);
}

void reprise_log_save_ack(reprise_logbook* log, int64_t step) { WriteStep(log, "save_ack", step); }

void reprise_log_eval(reprise_logbook* log, int64_t step, float loss) {
  Guarded(log, [&] {
    log->Write(RecordText("eval").Integer("step", step).String("loss", BitsText(loss)));
  });
}

void reprise_log_epoch(reprise_logbook* log, int64_t step, int64_t epoch) {
  Guarded(log,
          [&] { log->Write(RecordText("epoch").Integer("step", step).Integer("epoch", epoch)); });
}

void reprise_log_end(reprise_logbook* log, int64_t step) { WriteStep(log, "end", step); }

void reprise_bits_of_float(float value, char text[REPRISE_BITS_SIZE]) {
  std::snprintf(text, REPRISE_BITS_SIZE, "%s", BitsText(value).c_str());
}

void reprise_bits_of_double(double value, char text[REPRISE_BITS_SIZE]) {
  std::snprintf(text, REPRISE_BITS_SIZE, "%s", BitsText(value).c_str());
}

}  // extern "C"
