// A run directory: everything that a campaign leaves, and the one truth about it.
//
//   events.jsonl            append-only; progress, reports and --continue are read from it
//   reference/TARGET-wN/    evidence of the uninterrupted run of a target at world size N
//   cases/ID/               evidence of a case, kept for findings
//   report.json, junit.xml  written from events.jsonl
//
// docs/run-directory.md specifies events.jsonl. One campaign at a time holds the directory (flock).

#ifndef REPRISE_HARNESS_RECORD_RUN_DIRECTORY_H_
#define REPRISE_HARNESS_RECORD_RUN_DIRECTORY_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/base/unique_fd.h"
#include "harness/model/report.h"

namespace reprise {

// The first event: with it and the scenario files, the plan can be made again.
struct RunHeader {
  std::string version;
  std::string commit;
  std::uint64_t seed = 1;
  std::vector<std::string> scenarios;     // absolute paths
  std::vector<std::string> scenario_ids;  // content ids of the files
};

// What events.jsonl says.
struct RunRecord {
  RunHeader header;
  std::vector<TargetReport> targets;
  std::vector<std::string> planned;  // ids, in the order of the plan; empty until it was made
  std::vector<CaseReport> cases;     // in the order of the plan, at most one per id (the newest)
  std::string cut;                   // where a budget cut the plan
  bool finished = false;
  double wall_s = 0;
};

class RunDirectory {
 public:
  // A new run. A directory that holds an earlier run is emptied; any other non-empty one is refused
  // (kUsage), as is one that a running campaign holds.
  static Result<RunDirectory> Create(const std::filesystem::path& path, const RunHeader& header);

  // An earlier run that goes on. A torn last event (we were killed while it was written) is
  // removed.
  static Result<RunDirectory> Continue(const std::filesystem::path& path);

  // Reads the events of a run, also of one that is still going on. kNotFound when there is none.
  static Result<RunRecord> Read(const std::filesystem::path& path);

  Status AppendTarget(const TargetReport& target);
  Status AppendPlan(const std::vector<std::string>& case_ids);
  Status AppendCase(const CaseReport& report);
  Status AppendFinished(double wall_s, const std::string& cut);

  [[nodiscard]] const std::filesystem::path& Path() const { return path_; }
  [[nodiscard]] std::filesystem::path ReferencePath(const std::string& target, int world) const;
  [[nodiscard]] std::filesystem::path CasePath(const std::string& case_id) const;

 private:
  RunDirectory(std::filesystem::path path, UniqueFd lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}

  std::filesystem::path path_;
  UniqueFd lock_;  // of events.jsonl
};

// The report that the events amount to; findings, summary and exit status are the judge's
// (Summarise).
Report ToReport(const RunRecord& record, const std::filesystem::path& path);

}  // namespace reprise

#endif  // REPRISE_HARNESS_RECORD_RUN_DIRECTORY_H_
