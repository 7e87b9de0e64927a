#include "harness/campaign/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <system_error>
#include <utility>

#include "harness/base/content_id.h"
#include "harness/base/files.h"
#include "harness/campaign/case_runner.h"
#include "harness/campaign/life.h"
#include "harness/campaign/preparation.h"
#include "harness/campaign/reference.h"
#include "harness/judge/findings.h"
#include "harness/plan/plan.h"
#include "harness/process/launch_child.h"
#include "harness/process/worker_pool.h"
#include "harness/record/model_json.h"
#include "harness/record/run_directory.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::uint64_t kMaxScenarioBytes = std::uint64_t{4} << 20;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

bool SameTarget(const Target& a, const Target& b) {
  TargetReport left;
  left.target = a;
  TargetReport right;
  right.target = b;
  return EncodeTarget(left) == EncodeTarget(right);
}

class Campaign {
 public:
  Campaign(const CampaignOptions& options, RunDirectory directory, RunRecord earlier)
      : options_(options), directory_(std::move(directory)), earlier_(std::move(earlier)) {
    context_.models_folder = options.models_folder;
    context_.replay_prefix = options.program + " replay --out " + options.out.string();
  }

  Status Load(const RunHeader& header) {
    context_.seed = header.seed;
    for (std::size_t i = 0; i < header.scenarios.size(); ++i) {
      REPRISE_ASSIGN_OR_RETURN(const std::string text,
                               ReadFile(header.scenarios[i], kMaxScenarioBytes));
      if (ContentId(text) != header.scenario_ids[i]) {
        return Fail(ErrorCode::kUsage, "this scenario has changed since the run began; start anew",
                    header.scenarios[i]);
      }
      REPRISE_ASSIGN_OR_RETURN(Scenario scenario, LoadScenario(header.scenarios[i]));
      REPRISE_RETURN_IF_ERROR(CheckPrograms(scenario));
      REPRISE_RETURN_IF_ERROR(AddTargets(scenario));
      scenarios_.push_back(std::move(scenario));
    }
    return {};
  }

  Status Run() {
    REPRISE_ASSIGN_OR_RETURN(failed_, RunReferences(needed_, Progressing("uninterrupted runs"),
                                                    directory_, options_.jobs, context_));
    REPRISE_RETURN_IF_ERROR(Calibrate(needed_, failed_, &directory_, &context_));
    REPRISE_RETURN_IF_ERROR(Plan());
    REPRISE_RETURN_IF_ERROR(RunCases());
    REPRISE_RETURN_IF_ERROR(Confirm());
    return directory_.AppendFinished(SecondsSince(start_), cut_);
  }

 private:
  // Before the first process is started, so that a wrong path costs no waiting.
  [[nodiscard]] Status CheckPrograms(const Scenario& scenario) const {
    for (std::size_t i = 0; i < scenario.targets.size(); ++i) {
      const Target& target = scenario.targets[i];
      Life life;
      life.target = &target;
      life.models_folder = options_.models_folder;
      if (const auto program = FindProgram(ExpandCommand(life).front().front()); !program) {
        return Fail(ErrorCode::kNotFound,
                    fmt::format("\"{}\": {}; a relative path begins at the folder in which reprise "
                                "was started",
                                target.command.front(), program.error().message),
                    fmt::format("{}: targets[{}].command[0]", scenario.path.string(), i));
      }
    }
    return {};
  }

  Status AddTargets(const Scenario& scenario) {
    for (const Target& target : scenario.targets) {
      const auto [known, inserted] = context_.targets.try_emplace(target.id, target);
      if (!inserted && !SameTarget(known->second, target)) {
        return Fail(
            ErrorCode::kInvalidInput,
            fmt::format("target \"{}\" is defined otherwise in another scenario of this run; "
                        "give it another id",
                        target.id),
            scenario.path.string());
      }
    }
    for (const ReferenceKey& key : NeededReferences(scenario)) {
      if (std::find(needed_.begin(), needed_.end(), key) == needed_.end()) {
        needed_.push_back(key);
      }
    }
    return {};
  }

  // ---- cases
  // --------------------------------------------------------------------------------------

  Status Plan() {
    std::map<ReferenceKey, ReferenceSummary> summaries;
    for (const auto& [key, reference] : context_.references) {
      summaries[key] = reference.summary;
    }
    for (Scenario& scenario : scenarios_) {
      DropFailedTargets(&scenario);
      REPRISE_ASSIGN_OR_RETURN(std::vector<PlannedCase> cases,
                               MakePlan(scenario, context_.seed, summaries));
      std::move(cases.begin(), cases.end(), std::back_inserter(plan_));
    }
    AddFinishedAgainCases();
    std::vector<std::string> ids;
    for (const CaseReport& unjudged : unjudged_) {
      ids.push_back(unjudged.the_case.id);
    }
    for (const PlannedCase& planned : plan_) {
      ids.push_back(planned.the_case.id);
    }
    REPRISE_RETURN_IF_ERROR(directory_.AppendPlan(ids));
    for (const CaseReport& unjudged : unjudged_) {
      REPRISE_RETURN_IF_ERROR(Keep(unjudged));
    }
    return {};
  }

  // Last, so that a budget cuts them first; not where the scenario names the case itself.
  void AddFinishedAgainCases() {
    std::set<std::string> known;
    for (const PlannedCase& planned : plan_) {
      known.insert(planned.the_case.id);
    }
    for (const Scenario& scenario : scenarios_) {
      for (PlannedCase& added : FinishedAgainCases(scenario)) {
        if (known.insert(added.the_case.id).second) {
          plan_.push_back(std::move(added));
        }
      }
    }
  }

  // The cases of a target without a sound reference cannot even be planned: one case says so.
  void DropFailedTargets(Scenario* scenario) {
    std::set<std::string> failed_targets;
    for (const auto& [key, why] : failed_) {
      const auto belongs = [&id = key.first](const Target& target) { return target.id == id; };
      if (std::none_of(scenario->targets.begin(), scenario->targets.end(), belongs)) {
        continue;
      }
      CaseReport report;
      report.the_case.id =
          fmt::format("{}_{}_w{}_uninterrupted", scenario->name, key.first, key.second);
      report.the_case.scenario = scenario->name;
      report.the_case.target = key.first;
      report.the_case.world = {key.second};
      report.outcome.verdict = Verdict::kCannotJudge;
      const auto entry_count = std::count_if(
          scenario->cases.begin(), scenario->cases.end(),
          [&id = key.first](const CaseTemplate& entry) { return entry.target == id; });
      report.outcome.why = fmt::format("{}; {} entries of {} could not be planned without it", why,
                                       entry_count, scenario->path.filename().string());
      unjudged_.push_back(std::move(report));
      failed_targets.insert(key.first);
    }
    std::erase_if(scenario->cases,
                  [&](const CaseTemplate& entry) { return failed_targets.contains(entry.target); });
  }

  Status RunCases() {
    const std::vector<PlannedCase> open = OpenCases();
    total_ = static_cast<int>(plan_.size());
    done_ = total_ - static_cast<int>(open.size());
    Status trouble;
    const auto case_start = Clock::now();
    REPRISE_RETURN_IF_ERROR(
        RunInWorkers(open.size(), options_.jobs, WorkOn(open, "cases", false, options_.keep),
                     [&](std::size_t i, const Result<std::string>& text) {
                       trouble = Keep(ToCaseReport(open[i], text));
                       ShowProgress("cases", ++done_, total_);
                       const bool in_budget = options_.budget == milliseconds(0) ||
                                              Clock::now() - case_start < options_.budget;
                       return trouble.has_value() && in_budget;
                     }));
    if (done_ < total_) {
      cut_ = fmt::format("the budget ended after {} of {} cases", done_, total_);
    }
    return trouble;
  }

  // What the run that is continued has not judged yet.
  [[nodiscard]] std::vector<PlannedCase> OpenCases() {
    std::map<std::string, const CaseReport*> judged;
    for (const CaseReport& report : earlier_.cases) {
      judged[report.the_case.id] = &report;
    }
    std::vector<PlannedCase> open;
    for (const PlannedCase& planned : plan_) {
      const auto found = judged.find(planned.the_case.id);
      if (found == judged.end() || found->second->outcome.verdict == Verdict::kHarnessError) {
        open.push_back(planned);
      } else {
        reports_[planned.the_case.id] = *found->second;
      }
    }
    return open;
  }

  // Makes the work of one worker: cases in `subfolder`/ID, results as JSON.
  [[nodiscard]] std::function<Work()> WorkOn(const std::vector<PlannedCase>& cases,
                                             const std::string& subfolder, bool cold,
                                             bool keep) const {
    return [this, &cases, subfolder, cold, keep] {
      auto supervisor = std::make_shared<Result<std::unique_ptr<Supervisor>>>(Supervisor::Create());
      return [this, supervisor, &cases, subfolder, cold, keep](std::size_t i) {
        if (!*supervisor) {
          return DumpJson(Json{{"error", supervisor->error().ToString()}});
        }
        const CaseRunner runner(supervisor->value().get(), &context_);
        const fs::path folder = directory_.Path() / subfolder / cases[i].the_case.id;
        return DumpJson(EncodeCase(runner.Run(cases[i], folder, cold, keep)));
      };
    };
  }

  [[nodiscard]] CaseReport ToCaseReport(const PlannedCase& planned,
                                        const Result<std::string>& text) const {
    std::string trouble;
    if (!text) {
      trouble = text.error().ToString();
    } else if (const auto json = ParseJson(*text, "worker"); !json) {
      trouble = json.error().ToString();
    } else if (json->contains("error")) {
      trouble = (*json)["error"].get<std::string>();
    } else if (auto report = DecodeCase(*json, "worker")) {
      return *report;
    } else {
      trouble = report.error().ToString();
    }
    CaseReport report;
    report.the_case = planned.the_case;
    report.expect = planned.expect;
    report.outcome.verdict = Verdict::kHarnessError;
    report.outcome.why = trouble;
    report.met = false;
    report.unmet_why = trouble;
    report.replay = context_.replay_prefix + " " + planned.the_case.id;
    return report;
  }

  Status Keep(const CaseReport& report) {
    REPRISE_RETURN_IF_ERROR(directory_.AppendCase(report));
    findings_ += !report.met && IsFinding(report.outcome.verdict) ? 1 : 0;
    for (ReportWriter* listener : options_.listeners) {
      listener->OnCase(report);
    }
    reports_[report.the_case.id] = report;
    return {};
  }

  // ---- confirmation
  // -------------------------------------------------------------------------------

  // The simplest case of each finding once more, each life from a cold start: neither the fork
  // server nor chance may be the only witness.
  Status Confirm() {
    const std::vector<PlannedCase> firsts = FirstCasesOfFindings();
    Status trouble;
    int done = 0;
    REPRISE_RETURN_IF_ERROR(
        RunInWorkers(firsts.size(), options_.jobs, WorkOn(firsts, "confirm", true, true),
                     [&](std::size_t i, const Result<std::string>& text) {
                       trouble = NoteConfirmation(ToCaseReport(firsts[i], text));
                       ShowProgress("confirming findings", ++done, static_cast<int>(firsts.size()));
                       return trouble.has_value();
                     }));
    return trouble;
  }

  std::vector<PlannedCase> FirstCasesOfFindings() {
    Report report;
    for (const PlannedCase& planned : plan_) {
      if (const auto found = reports_.find(planned.the_case.id); found != reports_.end()) {
        report.cases.push_back(found->second);
      }
    }
    Summarise(&report);
    std::vector<PlannedCase> firsts;
    for (const Finding& finding : report.findings) {
      const CaseReport& first = reports_.at(finding.cases.front());
      if (IsFinding(first.outcome.verdict) && first.confirmation.empty()) {
        PlannedCase planned;
        planned.the_case = first.the_case;
        planned.expect = first.expect;
        firsts.push_back(std::move(planned));
      }
    }
    return firsts;
  }

  Status NoteConfirmation(const CaseReport& repetition) {
    CaseReport& report = reports_.at(repetition.the_case.id);
    const fs::path evidence = directory_.Path() / "confirm" / repetition.the_case.id;
    if (SayTheSame(report.outcome, repetition.outcome)) {
      report.confirmation = "the same from a cold start";
      REPRISE_RETURN_IF_ERROR(RemoveTree(evidence));
    } else {
      report.confirmation = fmt::format("not the same from a cold start: {} (evidence: {})",
                                        ToText(repetition.outcome.verdict), evidence.string());
      report.outcome.why = fmt::format("{}, but {} {}", ToText(report.outcome.verdict),
                                       report.confirmation, repetition.outcome.why);
      report.outcome.verdict = Verdict::kCannotJudge;
      report.met = MeetsExpectation(report.outcome, report.expect, &report.unmet_why);
    }
    return directory_.AppendCase(report);
  }

  OnPieceDone Progressing(const std::string& phase) {
    return [this, phase](int done, int total) { ShowProgress(phase, done, total); };
  }

  void ShowProgress(const std::string& phase, int done, int total) {
    const Progress progress{phase, done, total, findings_,
                            std::chrono::duration_cast<milliseconds>(Clock::now() - start_)};
    for (ReportWriter* listener : options_.listeners) {
      listener->OnProgress(progress);
    }
  }

  const CampaignOptions& options_;
  RunDirectory directory_;
  RunRecord earlier_;
  Clock::time_point start_ = Clock::now();
  std::vector<Scenario> scenarios_;
  std::vector<ReferenceKey> needed_;
  FailedReferences failed_;
  CampaignContext context_;
  std::vector<PlannedCase> plan_;
  std::vector<CaseReport> unjudged_;
  std::map<std::string, CaseReport> reports_;
  std::string cut_;
  int done_ = 0;
  int total_ = 0;
  int findings_ = 0;
};

Result<RunHeader> MakeHeader(const CampaignOptions& options) {
  RunHeader header{options.version, options.commit, options.seed, {}, {}};
  for (const fs::path& path : options.scenarios) {
    const auto text = ReadFile(path, kMaxScenarioBytes);
    if (!text) {
      return Fail(ErrorCode::kUsage, text.error().message, text.error().where);
    }
    REPRISE_RETURN_IF_ERROR(LoadScenario(path));  // before anything of an earlier run is removed
    header.scenarios.push_back(fs::canonical(path).string());
    header.scenario_ids.push_back(ContentId(*text));
  }
  return header;
}

// Nothing that was judged is lost by an interruption.
Error WithAdvice(Error error, const CampaignOptions& options) {
  if (error.code == ErrorCode::kDeadline) {
    error.message += fmt::format("; `{} run --continue --out {}` goes on where it stopped",
                                 options.program, options.out.string());
  } else if (error.code == ErrorCode::kSystem) {
    error.message += fmt::format(
        "; what was judged so far is kept: when this is mended, `{} run "
        "--continue --out {}` goes on",
        options.program, options.out.string());
  }
  return error;
}

}  // namespace

bool SayTheSame(const Outcome& a, const Outcome& b) {
  const auto place = [](const Outcome& outcome) {
    const Divergence none;
    const Divergence& d = outcome.divergence ? *outcome.divergence : none;
    return std::make_tuple(outcome.verdict, outcome.restored_step, outcome.cause,
                           outcome.divergence.has_value(), d.layer, d.step, d.name, d.actual);
  };
  return place(a) == place(b);
}

Result<Report> RunCampaign(const CampaignOptions& options) {
  RunHeader header;
  RunRecord earlier;
  std::optional<RunDirectory> directory;
  if (options.resume) {
    REPRISE_ASSIGN_OR_RETURN(directory, RunDirectory::Continue(options.out));
    REPRISE_ASSIGN_OR_RETURN(earlier, RunDirectory::Read(options.out));
    header = earlier.header;
  } else {
    REPRISE_ASSIGN_OR_RETURN(header, MakeHeader(options));
    REPRISE_ASSIGN_OR_RETURN(directory, RunDirectory::Create(options.out, header));
  }
  const fs::path path = directory->Path();
  const bool is_complete = earlier.finished && earlier.cut.empty();
  if (!is_complete) {
    Campaign campaign(options, std::move(*directory), std::move(earlier));
    REPRISE_RETURN_IF_ERROR(campaign.Load(header));
    if (Status status = campaign.Run(); !status) {
      return tl::make_unexpected(WithAdvice(status.error(), options));
    }
  }
  REPRISE_ASSIGN_OR_RETURN(const RunRecord record, RunDirectory::Read(path));
  Report report = ToReport(record, path);
  Summarise(&report);
  return report;
}

}  // namespace reprise
