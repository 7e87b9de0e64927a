#include "tests/fuzz/targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <memory>
#include <sstream>

#include "formats/checkpoint_format.h"
#include "formats/checkpoint_index.h"
#include "formats/safetensors.h"
#include "formats/sharded_safetensors_reader.h"
#include "harness/base/check.h"
#include "harness/base/content_id.h"
#include "harness/base/files.h"
#include "harness/judge/findings.h"
#include "harness/judge/judge.h"
#include "harness/plan/plan.h"
#include "harness/record/attempt_store.h"
#include "harness/record/logbook_reader.h"
#include "harness/record/run_directory.h"
#include "reports/report_writer.h"

namespace reprise::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxMessageBytes = 3'000;

// A folder for the file that a parser wants to open; removed at the end of the process.
class Scratch {
 public:
  Scratch() {
    std::error_code error;
    const fs::path memory = "/dev/shm";
    const fs::path above = fs::is_directory(memory, error) ? memory : fs::temp_directory_path();
    std::string pattern = (above / "reprise-fuzz-XXXXXX").string();
    REPRISE_CHECK(mkdtemp(pattern.data()) != nullptr, pattern);
    folder_ = pattern;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  [[nodiscard]] fs::path Write(const std::string& name, std::string_view content) const {
    fs::path path = folder_ / name;
    std::error_code ignored;
    fs::remove(path, ignored);
    const Status made = MakeFolders(path.parent_path());
    const Status written = made ? AppendToFile(path, content) : made;
    REPRISE_CHECK(written.has_value(), written.error().ToString());
    return path;
  }

 private:
  fs::path folder_;
};

const Scratch& Folder() {
  static const Scratch scratch;
  return scratch;
}

std::int64_t LineCount(std::string_view content) {
  return 1 + std::count(content.begin(), content.end(), '\n');
}

// The number at the beginning of `text`, or -1.
std::int64_t NumberAt(std::string_view text) {
  std::int64_t number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

bool IsLineOf(std::int64_t line, std::string_view content) {
  return line >= 1 && line <= LineCount(content);
}

// ---- logbook and judge

Logbook Parse(std::string_view text) {
  const auto logbook = ReadLogbook(Folder().Write("reference/rank-0.jsonl", text));
  REPRISE_CHECK(logbook.has_value(), logbook.error().ToString());
  return *logbook;
}

// Three steps of one tensor, a save after the second.
const Logbook& ReferenceLogbook() {
  static const Logbook logbook = Parse(
      R"({"t":"start","schema":"reprise.logbook/1","rank":0,"world":1,"attempt":0,"environment":{}}
{"t":"names","tensors":[{"component":"weights","kind":"weight","path":"a","dtype":"F32","shape":[4],"offsets":[0],"extents":[4],"replica":[0,1]}]}
{"t":"restored","step":0,"checkpoint":"","refused":[]}
{"t":"state","reading":"ready","step":0,"tensors":[[0,"0000000000000001","0000000000000001"]],"scalars":{"data.position":"0"}}
{"t":"ready","step":0}
{"t":"micro","step":1,"micro":0,"worker":0,"ids":[1],"content":"00000000000000000000000000000001"}
{"t":"step","step":1,"loss":"f32:40200000","learning_rate":["f64:3f50624dd2f1a9fc"],"weight_decay":["f64:0000000000000000"]}
{"t":"state","reading":"step","step":1,"tensors":[[0,"0000000000000002","0000000000000002"]],"scalars":{"data.position":"1"}}
{"t":"save_begin","step":1}
{"t":"save_ack","step":1}
{"t":"step","step":2,"loss":"f32:40100000","learning_rate":["f64:3f50624dd2f1a9fc"],"weight_decay":["f64:0000000000000000"]}
{"t":"state","reading":"step","step":2,"tensors":[[0,"0000000000000003","0000000000000003"]],"scalars":{"data.position":"2"}}
{"t":"end","step":2}
)");
  return logbook;
}

AttemptEvidence EvidenceOf(const Logbook& logbook, bool is_killed) {
  AttemptEvidence evidence;
  evidence.logbooks = {logbook};
  evidence.result.end = is_killed ? AttemptEnd::kFault : AttemptEnd::kAllExited;
  evidence.result.ranks = {{.end = is_killed ? RankEnd::kKilledByFault : RankEnd::kExited}};
  return evidence;
}

void JudgeCase(const Logbook& reference, const Logbook& killed, const Logbook& restart) {
  Target target;
  target.world_invariant = true;
  Case the_case;
  the_case.world = {1, 1};
  the_case.faults = {{.kind = "kill.step", .params = {{"step", "1"}}}};
  const AttemptEvidence expected = EvidenceOf(reference, false);
  JudgeInput input;
  input.the_case = &the_case;
  input.target = &target;
  input.reference = &expected;
  input.attempts = {EvidenceOf(killed, true), EvidenceOf(restart, false)};
  Judge(input);
}

bool AreEqual(const TensorRecord& a, const TensorRecord& b) {
  return a.component == b.component && a.Key() == b.Key() && a.dtype == b.dtype &&
         a.global_shape == b.global_shape && a.slice == b.slice &&
         a.replica_index == b.replica_index && a.replica_count == b.replica_count &&
         a.alias_of == b.alias_of;
}

bool AreEqual(const LogRecord& a, const LogRecord& b) {
  if (const auto* state = std::get_if<StateRecord>(&a)) {
    const auto* other = std::get_if<StateRecord>(&b);
    return other != nullptr && state->reading == other->reading && state->step == other->step &&
           state->tensors == other->tensors && state->scalars == other->scalars;
  }
  if (const auto* names = std::get_if<NamesRecord>(&a)) {
    const auto* other = std::get_if<NamesRecord>(&b);
    return other != nullptr &&
           std::equal(names->tensors.begin(), names->tensors.end(), other->tensors.begin(),
                      other->tensors.end(),
                      [](const TensorRecord& x, const TensorRecord& y) { return AreEqual(x, y); });
  }
  return a.index() == b.index();
}

// The quick readers and the JSON library must agree; a blank keeps the former from a line.
std::string CompareReaders(std::string_view line) {
  if (!line.starts_with(R"({"t":"state")") && !line.starts_with(R"({"t":"names")")) {
    return {};
  }
  const auto quick = ParseLogRecord(line, "line");
  const auto slow = ParseLogRecord("{ " + std::string(line.substr(1)), "line");
  if (quick.has_value() != slow.has_value()) {
    return "a blank decides whether this line is read: " + std::string(line);
  }
  return !quick || AreEqual(*quick, *slow)
             ? ""
             : "a blank changes what this line says: " + std::string(line);
}

std::string ComplainOfLogbook(std::string_view input, bool* accepted) {
  std::istringstream lines{std::string(input)};
  for (std::string line; std::getline(lines, line);) {
    if (auto complaint = CompareReaders(line); !complaint.empty()) {
      return complaint;
    }
  }
  const fs::path path = Folder().Write("rank-0.jsonl", input);
  const auto logbook = ReadLogbook(path);
  if (!logbook) {
    return ComplainOfPlace(logbook.error(), path, input);
  }
  *accepted = true;
  return {};
}

std::string ComplainOfJudge(std::string_view input, bool* accepted) {
  const auto logbook = ReadLogbook(Folder().Write("rank-0.jsonl", input));
  if (logbook) {
    *accepted = true;
    JudgeCase(ReferenceLogbook(), ReferenceLogbook(), *logbook);
    JudgeCase(ReferenceLogbook(), *logbook, ReferenceLogbook());
    JudgeCase(*logbook, *logbook, *logbook);
  }
  return {};
}

// ---- scenario and plan

// A run in which each rank makes a few operations.
ReferenceSummary SummaryOf(const ReferenceKey& key) {
  ReferenceSummary summary;
  summary.world = key.second;
  summary.steps = 10;
  for (int rank = 0; rank < key.second; ++rank) {
    summary.record_count.push_back(20);
    for (int n = 0; n < 3; ++n) {
      Operation& operation = summary.operations.emplace_back();
      operation.kind = n == 0 ? OperationKind::kOpen : OperationKind::kWrite;
      operation.address = {.rank = rank, .save = 0, .n = n};
      operation.length_bytes = 100;
    }
  }
  summary.saved_steps = {5, 10};
  return summary;
}

std::string ComplainOfScenario(std::string_view input, bool* accepted) {
  constexpr std::int64_t kMaxSteps = 200;  // a larger plan is large because it was asked for
  const fs::path path = Folder().Write("scenario.json", input);
  const auto scenario = LoadScenario(path);
  if (!scenario) {
    return ComplainOfPlace(scenario.error(), path, input);
  }
  *accepted = true;
  for (const Target& target : scenario->targets) {
    if (target.steps > kMaxSteps) {
      return {};
    }
  }
  std::map<ReferenceKey, ReferenceSummary> references;
  for (const ReferenceKey& key : NeededReferences(*scenario)) {
    references[key] = SummaryOf(key);
  }
  const auto plan = MakePlan(*scenario, 1, references);
  return plan ? "" : ComplainOfPlace(plan.error(), path, input);
}

// ---- formats

std::string ComplainOfSafetensors(std::string_view input, bool* accepted) {
  const fs::path path = "file.safetensors";
  const auto file_bytes = static_cast<std::int64_t>(input.size());
  const auto length = SafetensorsHeaderLength(input.substr(0, 8), file_bytes, path);
  if (!length) {
    return ComplainOfPlace(length.error(), path, input);
  }
  const std::string_view text = input.substr(0, static_cast<std::size_t>(*length));
  const auto header = ParseSafetensorsHeader(text, file_bytes, path);
  if (!header) {
    return ComplainOfPlace(header.error(), path, text.substr(8));
  }
  *accepted = true;
  // What was accepted is one piece of data from the header to the end of the file.
  std::int64_t at = 0;
  for (const SafetensorsEntry& entry : header->entries) {
    if (entry.begin_bytes != at || entry.end_bytes < at) {
      return fmt::format("tensor \"{}\" was accepted at {}, expected {}", entry.name,
                         entry.begin_bytes, at);
    }
    at = entry.end_bytes;
  }
  return header->length_bytes + at == file_bytes ? "" : "the data does not end with the file";
}

std::string ComplainOfIndex(std::string_view input, bool* accepted) {
  const fs::path path = "index.json";
  const auto index = ParseIndex(input, path);
  if (!index) {
    return ComplainOfPlace(index.error(), path, input);
  }
  *accepted = true;
  const auto text = IndexText(*index);
  const auto again = text ? ParseIndex(*text, path) : Result<CheckpointIndex>(index);
  if (!text || !again || IndexText(*again) != *text) {
    return "an index that was accepted is not written and read as it is";
  }
  return {};
}

// Sets what a checkpoint guards with checksums, so that what lies behind them is reached.
void FitToShard(std::string_view shard, CheckpointIndex* index) {
  ShardFile& file = index->files.front();
  file.size_bytes = static_cast<std::int64_t>(shard.size());
  const auto length = SafetensorsHeaderLength(shard.substr(0, 8), file.size_bytes, "");
  file.header_bytes = length.value_or(8);
  const std::string_view header = shard.substr(0, static_cast<std::size_t>(file.header_bytes));
  file.header_checksum = ContentId(header);
  const std::string_view data = shard.substr(header.size());
  for (auto& [key, tensor] : index->tensors) {
    for (IndexedSlice& slice : tensor.slices) {
      const auto begin = std::min(static_cast<std::size_t>(slice.begin_bytes), data.size());
      const auto end = std::min(static_cast<std::size_t>(slice.end_bytes), data.size());
      slice.checksum = ContentId(data.substr(begin, end - begin));
    }
  }
}

// The error of reading a checkpoint must name one of its files.
std::string ComplainOfFile(const Error& error, const fs::path& folder) {
  const bool is_short = error.message.size() < kMaxMessageBytes;
  return is_short && error.where.starts_with(folder.string()) ? ""
                                                              : "no place: " + error.ToString();
}

std::string ReadAll(CheckpointReader* reader, const fs::path& folder, bool* accepted) {
  constexpr std::int64_t kMaxTensorBytes = 1 << 20;
  const Status verified = reader->Verify();
  for (const LayoutRegion& region : reader->GetLayout().regions) {
    if (region.kind != RegionKind::kTensorData) {
      continue;
    }
    const auto bytes = reader->ReadRegion(region);
    const auto count = ElementCount(region.global_shape);
    if (!bytes || !count || *count > kMaxTensorBytes / SizeOfDType(region.dtype)) {
      continue;
    }
    std::vector<std::byte> out(static_cast<std::size_t>(*count * SizeOfDType(region.dtype)));
    const Status read = reader->Read(region.tensor, Slice::Whole(region.global_shape), out);
    if (!read) {
      return ComplainOfFile(read.error(), folder);
    }
  }
  *accepted |= verified.has_value();
  return verified ? "" : ComplainOfFile(verified.error(), folder);
}

// An index.json, a zero byte, and the shard of its one rank.
std::string ComplainOfCheckpoint(std::string_view input, bool* accepted) {
  const std::size_t zero = std::min(input.find('\0'), input.size());
  const std::string_view shard = input.substr(std::min(zero + 1, input.size()));
  auto index = ParseIndex(input.substr(0, zero), "index.json");
  if (!index || index->files.size() != 1 || shard.size() < 8) {
    return {};
  }
  FitToShard(shard, &*index);
  const auto text = IndexText(*index);
  if (!text) {
    return "an index that was accepted is not written: " + text.error().ToString();
  }
  const std::string name = fmt::format("step-{:08}", index->step);
  const fs::path index_path = Folder().Write("ckpt/step/index.json", *text);
  static_cast<void>(Folder().Write("ckpt/step/COMMIT", CommitText(index->step, *text)));
  static_cast<void>(Folder().Write("ckpt/step/" + index->files.front().name, shard));
  const fs::path folder = index_path.parent_path().parent_path();
  const auto reader = OpenShardedSafetensors(folder, {.name = "step", .step = index->step});
  return reader ? ReadAll(reader->get(), folder, accepted) : ComplainOfFile(reader.error(), folder);
}

// ---- run directory and attempt

std::string ComplainOfEvents(std::string_view input, bool* accepted) {
  const fs::path path = Folder().Write("run/events.jsonl", input);
  const auto record = RunDirectory::Read(path.parent_path());
  if (!record) {
    return record.error().code == ErrorCode::kNotFound
               ? ""  // it does not begin as a run does
               : ComplainOfPlace(record.error(), path, input);
  }
  *accepted = true;
  Report report = ToReport(*record, path.parent_path());
  Summarise(&report);
  for (const WriterInfo& info : AllWriters()) {
    std::ostringstream text;
    info.make(text, {})->OnFinished(report);
    if (text.str().find('\033') != std::string::npos) {
      return info.name + " prints an escape of the input to the terminal";
    }
  }
  return {};
}

std::string ComplainOfAttempt(std::string_view input, bool* accepted) {
  const fs::path path = Folder().Write("attempt/attempt.jsonl", input);
  const auto attempt = LoadAttempt(path.parent_path());
  if (!attempt) {
    return ComplainOfPlace(attempt.error(), path, input);
  }
  *accepted = true;
  const fs::path copy = Folder().Write("attempt-copy/attempt.jsonl", "").parent_path();
  const Status stored = StoreAttempt(copy, *attempt);
  const auto again = LoadAttempt(copy);
  return stored && again && again->events.size() == attempt->events.size()
             ? ""
             : "an attempt that was accepted is not stored and read as it is";
}

}  // namespace

const std::vector<FuzzTarget>& AllTargets() {
  static const std::vector<FuzzTarget> all = {
      {"attempt", ComplainOfAttempt},
      {"checkpoint", ComplainOfCheckpoint},
      {"events", ComplainOfEvents},
      {"index", ComplainOfIndex},
      {"judge", ComplainOfJudge},
      {"logbook", ComplainOfLogbook},
      {"safetensors", ComplainOfSafetensors},
      {"scenario", ComplainOfScenario},
  };
  return all;
}

const FuzzTarget* FindTarget(std::string_view name) {
  const auto found = std::find_if(AllTargets().begin(), AllTargets().end(),
                                  [name](const FuzzTarget& target) { return name == target.name; });
  return found == AllTargets().end() ? nullptr : &*found;
}

std::string ComplainOfPlace(const Error& error, const fs::path& path, std::string_view content) {
  const auto complain = [&error](const char* what) { return what + (": " + error.ToString()); };
  if (error.message.size() > kMaxMessageBytes || error.where.size() > kMaxMessageBytes) {
    return fmt::format("an error of {} bytes", error.message.size() + error.where.size());
  }
  std::string_view rest = error.where;
  if (!rest.starts_with(path.string())) {
    return complain("the error does not name the file");
  }
  rest.remove_prefix(path.string().size());
  if (rest.starts_with(": ")) {
    return rest.size() > 2 ? "" : complain("the error names an empty field");
  }
  if (rest.starts_with(':')) {
    return IsLineOf(NumberAt(rest.substr(1)), content) ? "" : complain("no such line");
  }
  // The whole file: then the message says where in it.
  constexpr std::string_view kLine = "not valid JSON: line ";
  if (error.message.starts_with(kLine)) {
    const std::int64_t line = NumberAt(std::string_view(error.message).substr(kLine.size()));
    return IsLineOf(line, content) ? "" : complain("no such line");
  }
  const bool is_placed = error.message.find("byte") != std::string::npos ||
                         error.message.starts_with("expected an object");
  return is_placed ? "" : complain("the error says the file alone");
}

}  // namespace reprise::fuzz
