#include "harness/record/run_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "harness/base/files.h"
#include "harness/record/line_reader.h"
#include "harness/record/model_json.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSchema = "reprise.events/1";
constexpr LineLimits kLimits = {.line_bytes = std::uint64_t{128} << 20,
                                .file_bytes = std::uint64_t{2} << 30,
                                .what = "the events of a run (docs/run-directory.md)"};

fs::path EventsPath(const fs::path& path) { return path / "events.jsonl"; }

Result<UniqueFd> Lock(const fs::path& path, int flags) {
  const fs::path events = EventsPath(path);
  UniqueFd fd(open(events.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | flags, 0644));
  if (!fd.IsValid()) {
    return FailErrno(errno, "cannot open the run's events", events.string());
  }
  if (flock(fd.Get(), LOCK_EX | LOCK_NB) != 0) {
    return Fail(ErrorCode::kUsage,
                "another reprise is using this run directory; choose another "
                "with --out, or wait until it ends",
                path.string());
  }
  return fd;
}

// One event, one write: a kill leaves at most a torn last line.
Status Append(int fd, const OrderedJson& event, const fs::path& path) {
  const std::string line = DumpJson(event) + "\n";
  const ssize_t written = write(fd, line.data(), line.size());
  if (written < 0) {
    return FailErrno(errno, "cannot write an event", EventsPath(path).string());
  }
  if (static_cast<std::size_t>(written) != line.size()) {
    return Fail(ErrorCode::kSystem, "cannot write an event: the disk is full",
                EventsPath(path).string());
  }
  return {};
}

// True for a directory whose events.jsonl begins as ours do.
bool HoldsARun(const fs::path& path) {
  const auto head = ReadFileRange(EventsPath(path), 0, std::string(R"({"event":"run",)").size());
  return head && *head == R"({"event":"run",)";
}

// A run that was killed before its first event.
bool HoldsOnlyEmptyEvents(const fs::path& path) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    if (entry.path() != EventsPath(path) || entry.file_size(error) != 0) {
      return false;
    }
  }
  return !error;
}

// What we write into a run directory. Anything else in it belongs to somebody.
constexpr std::array<std::string_view, 8> kOwnNames = {"events.jsonl", "reference", "cases",
                                                       "confirm",      "replay",    "report.json",
                                                       "report.md",    "junit.xml"};

// Also what WriteFileAtomically leaves of one of them when it is killed.
bool IsOurs(std::string_view name) {
  constexpr std::string_view kTemporary = ".tmp";
  if (name.ends_with(kTemporary)) {
    name.remove_suffix(kTemporary.size());
  }
  return std::find(kOwnNames.begin(), kOwnNames.end(), name) != kOwnNames.end();
}

// Removes an earlier run, but for events.jsonl, which is locked. Refuses when there is more than we
// wrote.
Status EmptyDirectory(const fs::path& path) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    const std::string name = entry.path().filename().string();
    if (!IsOurs(name)) {
      return Fail(
          ErrorCode::kUsage,
          fmt::format("the earlier run is not replaced, because its folder also holds \"{}\"; "
                      "move that, or name another folder with --out",
                      name),
          path.string());
    }
    if (name != "events.jsonl") {
      entries.push_back(entry.path());
    }
  }
  if (error) {
    return FailErrno(error.value(), "cannot list", path.string());
  }
  for (const fs::path& entry : entries) {
    REPRISE_RETURN_IF_ERROR(RemoveTree(entry));
  }
  return {};
}

Result<RunHeader> DecodeHeader(const Json& json, const std::string& where) {
  JsonFields fields(json, where);
  RunHeader header;
  if (const std::string schema = fields.RequiredString("schema"); schema != kSchema) {
    fields.AddError("schema", fmt::format("expected \"{}\", found \"{}\"", kSchema, schema));
  }
  header.version = fields.RequiredString("version");
  header.commit = fields.RequiredString("commit");
  header.seed = static_cast<std::uint64_t>(fields.RequiredInteger("seed", 0, INT64_MAX));
  header.scenarios = fields.OptionalStrings("scenarios");
  header.scenario_ids = fields.OptionalStrings("scenario_ids");
  REPRISE_RETURN_IF_ERROR(fields.FinishAllowingUnknown());
  return header;
}

// Collects events into a RunRecord.
class RecordBuilder {
 public:
  Status Add(const Json& json, const std::string& where) {
    JsonFields fields(json, where);
    const std::string event = fields.RequiredString("event");
    REPRISE_RETURN_IF_ERROR(fields.FinishAllowingUnknown());
    if (event == "run") {
      REPRISE_ASSIGN_OR_RETURN(record_.header, DecodeHeader(json, where));
      return {};
    }
    if (event == "target") {
      REPRISE_ASSIGN_OR_RETURN(TargetReport target, DecodeTarget(json, where));
      std::erase_if(record_.targets,
                    [&](const TargetReport& old) { return old.target.id == target.target.id; });
      record_.targets.push_back(std::move(target));
      return {};
    }
    if (event == "case") {
      REPRISE_ASSIGN_OR_RETURN(CaseReport report, DecodeCase(json, where));
      cases_[report.the_case.id] = std::move(report);
      return {};
    }
    if (event == "plan") {
      record_.planned = fields.OptionalStrings("cases");
    } else if (event == "finished") {
      record_.finished = true;
      record_.cut = fields.OptionalString("cut", "");
      record_.wall_s =
          static_cast<double>(fields.OptionalInteger("wall_ms", 0, 0, INT64_MAX)) / 1e3;
    }
    return fields.FinishAllowingUnknown();  // events of later versions are no error
  }

  RunRecord Finish() {
    for (const std::string& id : record_.planned) {
      if (const auto found = cases_.find(id); found != cases_.end()) {
        record_.cases.push_back(std::move(found->second));
        cases_.erase(found);
      }
    }
    return std::move(record_);
  }

 private:
  RunRecord record_;
  std::map<std::string, CaseReport> cases_;
};

}  // namespace

Result<RunDirectory> RunDirectory::Create(const fs::path& path, const RunHeader& header) {
  std::error_code error;
  if (const Status made = MakeFolders(path); !made || !fs::is_directory(path, error)) {
    return Fail(ErrorCode::kUsage,
                "this cannot be the run directory: " +
                    (made ? std::string("it is no folder") : made.error().message),
                path.string());
  }
  const fs::path absolute = fs::canonical(path);
  if (!HoldsARun(absolute) && !HoldsOnlyEmptyEvents(absolute)) {
    return Fail(ErrorCode::kUsage,
                "this folder is not empty and holds no earlier run; name another with --out",
                absolute.string());
  }
  REPRISE_ASSIGN_OR_RETURN(UniqueFd lock, Lock(absolute, O_CREAT));
  REPRISE_RETURN_IF_ERROR(EmptyDirectory(absolute));
  if (ftruncate(lock.Get(), 0) != 0) {
    return FailErrno(errno, "cannot empty the earlier run's events", EventsPath(absolute).string());
  }
  REPRISE_RETURN_IF_ERROR(Append(lock.Get(),
                                 {{"event", "run"},
                                  {"schema", kSchema},
                                  {"version", header.version},
                                  {"commit", header.commit},
                                  {"seed", header.seed},
                                  {"scenarios", header.scenarios},
                                  {"scenario_ids", header.scenario_ids}},
                                 absolute));
  return RunDirectory(absolute, std::move(lock));
}

Result<RunDirectory> RunDirectory::Continue(const fs::path& path) {
  if (!HoldsARun(path)) {
    return Fail(ErrorCode::kUsage, "there is no earlier run to continue", path.string());
  }
  const fs::path absolute = fs::canonical(path);
  REPRISE_ASSIGN_OR_RETURN(UniqueFd lock, Lock(absolute, 0));
  REPRISE_ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(EventsPath(absolute), kLimits));
  std::size_t keep = 0;
  for (;;) {  // ends with the file
    REPRISE_ASSIGN_OR_RETURN(const std::optional<std::string_view> line, lines.Next());
    if (!line) {
      break;
    }
    keep += line->size() + 1;
  }
  if (lines.IsTorn() && ftruncate(lock.Get(), static_cast<off_t>(keep)) != 0) {
    return FailErrno(errno, "cannot remove the torn last event", EventsPath(absolute).string());
  }
  return RunDirectory(absolute, std::move(lock));
}

Result<RunRecord> RunDirectory::Read(const fs::path& path) {
  if (!HoldsARun(path)) {
    return Fail(ErrorCode::kNotFound, "no run directory (its events.jsonl is missing or foreign)",
                path.string());
  }
  REPRISE_ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(EventsPath(path), kLimits));
  RecordBuilder builder;
  for (;;) {  // ends with the file; a torn last line is one that a kill interrupted
    REPRISE_ASSIGN_OR_RETURN(const std::optional<std::string_view> line, lines.Next());
    if (!line) {
      return builder.Finish();
    }
    REPRISE_ASSIGN_OR_RETURN(const Json json, ParseJson(*line, lines.Where()));
    REPRISE_RETURN_IF_ERROR(builder.Add(json, lines.Where()));
  }
}

Status RunDirectory::AppendTarget(const TargetReport& target) {
  OrderedJson json = {{"event", "target"}};
  json.update(EncodeTarget(target));
  return Append(lock_.Get(), json, path_);
}

Status RunDirectory::AppendPlan(const std::vector<std::string>& case_ids) {
  return Append(lock_.Get(), {{"event", "plan"}, {"cases", case_ids}}, path_);
}

Status RunDirectory::AppendCase(const CaseReport& report) {
  OrderedJson json = {{"event", "case"}};
  json.update(EncodeCase(report));
  return Append(lock_.Get(), json, path_);
}

Status RunDirectory::AppendFinished(double wall_s, const std::string& cut) {
  return Append(lock_.Get(),
                {{"event", "finished"}, {"wall_ms", std::llround(wall_s * 1e3)}, {"cut", cut}},
                path_);
}

fs::path RunDirectory::ReferencePath(const std::string& target, int world) const {
  return path_ / "reference" / fmt::format("{}-w{}", target, world);
}

fs::path RunDirectory::CasePath(const std::string& case_id) const {
  return path_ / "cases" / case_id;
}

Report ToReport(const RunRecord& record, const fs::path& path) {
  Report report;
  report.version = record.header.version;
  report.commit = record.header.commit;
  report.seed = record.header.seed;
  report.run_directory = path.string();
  report.scenarios = record.header.scenarios;
  report.targets = record.targets;
  report.cases = record.cases;
  report.planned_case_count = static_cast<int>(record.planned.size());
  report.cut = record.cut;
  report.wall_s = record.wall_s;
  return report;
}

}  // namespace reprise
