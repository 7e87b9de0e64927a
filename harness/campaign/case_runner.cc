#include "harness/campaign/case_runner.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "formats/checkpoint_format.h"
#include "harness/base/files.h"
#include "harness/campaign/life.h"
#include "harness/campaign/stored.h"
#include "harness/explore/folder_state.h"
#include "harness/judge/findings.h"
#include "injectors/injector.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// Folders above this size are not compared with what the operation log predicts.
constexpr std::uint64_t kMaxComparedBytes = std::uint64_t{256} << 20;

struct ActiveFault {
  Fault fault;
  InjectorStage stage = InjectorStage::kLive;
  std::unique_ptr<Injector> injector;
};

// One case in the making: what its steps share.
class Execution {
 public:
  Execution(Supervisor* supervisor, const CampaignContext& context, const Case& the_case,
            fs::path folder, bool cold)
      : supervisor_(supervisor),
        context_(context),
        case_(the_case),
        target_(context.targets.at(the_case.target)),
        folder_(std::move(folder)),
        checkpoints_(folder_ / "ckpt"),
        cold_(cold) {}

  Result<Outcome> Run() {
    REPRISE_RETURN_IF_ERROR(Prepare());
    for (int attempt = 0; attempt < AttemptCount(); ++attempt) {
      REPRISE_ASSIGN_OR_RETURN(const std::optional<Outcome> early, RunAttempt(attempt));
      if (early) {
        return *early;
      }
      const bool another_follows = attempt + 1 < AttemptCount();
      if (another_follows) {
        REPRISE_RETURN_IF_ERROR(DamageFolder(attempt));
        if (const auto unfired = Unfired(attempt, InjectorStage::kFolder)) {
          return *unfired;
        }
        REPRISE_RETURN_IF_ERROR(ReadFolder(attempt + 1));
      }
    }
    if (format_ != nullptr) {
      REPRISE_ASSIGN_OR_RETURN(input_.stored_at_end, ReadStored(checkpoints_, *format_));
      input_.stored_at_end_known = true;
    }
    return JudgeIt();
  }

  // What the injectors have done so far.
  [[nodiscard]] std::vector<std::string> Fired() const {
    std::vector<std::string> fired;
    for (const ActiveFault& active : faults_) {
      fired.insert(fired.end(), active.injector->Firings().begin(),
                   active.injector->Firings().end());
    }
    return fired;
  }

 private:
  [[nodiscard]] int AttemptCount() const { return static_cast<int>(case_.world.size()); }

  Status Prepare() {
    REPRISE_RETURN_IF_ERROR(RemoveTree(folder_));
    REPRISE_RETURN_IF_ERROR(MakeFolders(checkpoints_));
    for (const Fault& fault : case_.faults) {
      REPRISE_ASSIGN_OR_RETURN(auto injector, MakeInjector(fault));
      faults_.push_back({fault, FindInjector(fault.kind)->stage, std::move(injector)});
    }
    if (!target_.format.empty()) {
      format_ = FindFormat(target_.format)->make();
    }
    return {};
  }

  // An outcome when the case ends here: the fault did not fire, or the recorder contradicts the
  // disk.
  Result<std::optional<Outcome>> RunAttempt(int attempt) {
    const auto before = FolderState::Scan(checkpoints_, kMaxComparedBytes);
    Life life;
    life.target = &target_;
    life.world = case_.world[static_cast<std::size_t>(attempt)];
    life.attempt = attempt;
    life.checkpoint_folder = checkpoints_;
    life.attempt_folder = folder_ / fmt::format("attempt-{}", attempt);
    life.models_folder = context_.models_folder;
    life.cold = cold_;
    life.injectors = Injectors(attempt, InjectorStage::kLive);
    for (const ActiveFault& active : faults_) {
      if (active.fault.attempt == attempt && active.stage == InjectorStage::kLive) {
        life.injector_names.push_back(active.fault.kind);
      }
    }
    REPRISE_ASSIGN_OR_RETURN(LifeResult result, RunLife(supervisor_, life));
    recovery_ = result.ready_after;
    if (before) {
      REPRISE_RETURN_IF_ERROR(CompareWithLog(*before, result.evidence.result));
    }
    const bool ended_well =
        result.evidence.result.end == AttemptEnd::kAllExited &&
        std::all_of(result.evidence.result.ranks.begin(), result.evidence.result.ranks.end(),
                    [](const RankResult& rank) { return rank.status == 0; });
    input_.attempts.push_back(std::move(result.evidence));
    return ended_well ? Unfired(attempt, InjectorStage::kLive) : std::nullopt;
  }

  // The folder must be what the operation log makes of the folder before; else we recorded wrongly
  // (kCorrupt). kUnsupported: the target put something there that is no file, folder or link.
  [[nodiscard]] Status CompareWithLog(FolderState predicted, const AttemptResult& result) const {
    for (const AttemptEvent& event : result.events) {
      const auto* operation = std::get_if<OperationEvent>(&event);
      if (operation == nullptr) {
        continue;
      }
      if (const Status status = predicted.Apply(operation->operation); !status) {
        return Fail(ErrorCode::kCorrupt,
                    "the operation log does not fit the folder: " + status.error().ToString(),
                    case_.id);
      }
    }
    const auto actual = FolderState::Scan(checkpoints_, kMaxComparedBytes);
    if (!actual) {
      return Fail(ErrorCode::kUnsupported,
                  "the checkpoint folder cannot be read: " + actual.error().message,
                  actual.error().where);
    }
    const std::vector<std::string> differences = predicted.DifferencesFrom(*actual);
    if (differences.empty()) {
      return {};
    }
    return Fail(ErrorCode::kCorrupt,
                fmt::format("the folder differs from what the operation log predicts: {}",
                            fmt::join(differences, "; ")),
                case_.id);
  }

  std::vector<Injector*> Injectors(int attempt, InjectorStage stage) {
    std::vector<Injector*> injectors;
    for (ActiveFault& active : faults_) {
      if (active.fault.attempt == attempt && active.stage == stage) {
        injectors.push_back(active.injector.get());
      }
    }
    return injectors;
  }

  [[nodiscard]] std::optional<Outcome> Unfired(int attempt, InjectorStage stage) const {
    for (const ActiveFault& active : faults_) {
      if (active.fault.attempt == attempt && active.stage == stage &&
          active.injector->Firings().empty()) {
        Outcome outcome;
        outcome.verdict = Verdict::kNotExercised;
        const std::string& why_not = active.injector->WhyNot();
        outcome.why = fmt::format("{} did not fire in attempt {}{}{}", active.fault.kind, attempt,
                                  why_not.empty() ? "" : ": ", why_not);
        if (stage == InjectorStage::kLive && input_.attempts.back().logbooks.empty()) {
          outcome.why += " (the target writes no logbook, so that no step or record was seen)";
        }
        return outcome;
      }
    }
    return std::nullopt;
  }

  Status DamageFolder(int attempt) {
    const std::vector<Injector*> injectors = Injectors(attempt, InjectorStage::kFolder);
    if (injectors.empty()) {
      return {};
    }
    FolderContext context;
    context.folder = checkpoints_;
    context.random = Random(context_.seed).Split(case_.id);
    if (format_ != nullptr) {
      REPRISE_ASSIGN_OR_RETURN(const auto refs, format_->List(checkpoints_));
      for (const CheckpointRef& ref : refs) {
        if (const auto reader = format_->Open(checkpoints_, ref.name)) {
          context.checkpoints.push_back((*reader)->GetLayout());
        }
      }
      REPRISE_ASSIGN_OR_RETURN(context.folder_layout, format_->FolderLayout(checkpoints_));
      context.pointer_to = [this](const std::string& name) { return format_->PointerTo(name); };
    }
    input_.damaged_files_after.resize(static_cast<std::size_t>(attempt) + 1);
    std::vector<std::string>& files = input_.damaged_files_after.back();
    for (Injector* injector : injectors) {
      REPRISE_RETURN_IF_ERROR(injector->OnFolder(context));
      files.insert(files.end(), injector->DamagedFiles().begin(), injector->DamagedFiles().end());
    }
    return {};
  }

  // What the next life finds: a copy of the folder for the person who looks at a finding, and what
  // the format reads in it.
  Status ReadFolder(int next_attempt) {
    if (FolderState::Scan(checkpoints_, kMaxComparedBytes)) {
      REPRISE_RETURN_IF_ERROR(
          CopyTree(checkpoints_, folder_ / fmt::format("found-{}", next_attempt)));
    }
    if (format_ == nullptr) {
      return {};
    }
    input_.format_known = true;
    REPRISE_ASSIGN_OR_RETURN(input_.stored, ReadStored(checkpoints_, *format_));
    return {};
  }

  Outcome JudgeIt() {
    input_.the_case = &case_;
    input_.target = &target_;
    input_.reference = &context_.references.at({case_.target, case_.reference_world}).evidence;
    Outcome outcome = Judge(input_);
    outcome.recovery_s = std::chrono::duration<double>(recovery_).count();
    const auto calibration = context_.calibrations.find(case_.target);
    if (outcome.verdict == Verdict::kDiverged && calibration != context_.calibrations.end() &&
        calibration->second.observed && !calibration->second.deterministic) {
      outcome.verdict = Verdict::kCannotJudge;
      outcome.why =
          "the uninterrupted run, repeated, is not the same run: " + calibration->second.noise;
    }
    return outcome;
  }

  Supervisor* supervisor_;
  const CampaignContext& context_;
  const Case& case_;
  const Target& target_;
  fs::path folder_;
  fs::path checkpoints_;
  bool cold_;
  std::vector<ActiveFault> faults_;
  std::unique_ptr<CheckpointFormat> format_;
  JudgeInput input_;
  std::chrono::microseconds recovery_{0};
};

}  // namespace

CaseReport CaseRunner::Run(const PlannedCase& planned, const fs::path& folder, bool cold,
                           bool keep) const {
  const auto start = Clock::now();
  CaseReport report;
  report.the_case = planned.the_case;
  report.expect = planned.expect;
  report.replay = context_->replay_prefix + " " + planned.the_case.id;
  Execution execution(supervisor_, *context_, planned.the_case, folder, cold);
  Result<Outcome> outcome = execution.Run();
  report.fired = execution.Fired();
  if (outcome) {
    report.outcome = std::move(*outcome);
  } else {
    // What the target did cannot be judged; anything else is our trouble.
    const bool is_targets = outcome.error().code == ErrorCode::kUnsupported;
    report.outcome.verdict = is_targets ? Verdict::kCannotJudge : Verdict::kHarnessError;
    report.outcome.why = outcome.error().ToString();
  }
  report.met = MeetsExpectation(report.outcome, planned.expect, &report.unmet_why);
  const bool worth_keeping = keep || !report.met || IsFinding(report.outcome.verdict) ||
                             report.outcome.verdict == Verdict::kHarnessError;
  if (!worth_keeping) {
    if (const Status removed = RemoveTree(folder); !removed && outcome) {
      report.outcome.verdict = Verdict::kHarnessError;
      report.outcome.why = removed.error().ToString();
    }
  }
  report.wall_s = std::chrono::duration<double>(Clock::now() - start).count();
  return report;
}

}  // namespace reprise
