#include "benchmarks/training.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <chrono>
#include <variant>

#include "harness/base/files.h"

namespace reprise::bench {
namespace {

// Of this process, without its children.
double OwnCpuSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

Status CheckEnds(const AttemptResult& result) {
  for (const RankResult& rank : result.ranks) {
    if (rank.end != RankEnd::kExited || rank.status != 0) {
      return Fail(ErrorCode::kSystem,
                  fmt::format("a rank of the measured run ended with status {}", rank.status));
    }
  }
  return {};
}

}  // namespace

std::string WhyNoTraining(const BenchContext& context) {
  std::error_code error;
  return std::filesystem::exists(context.models_folder / "transformer", error)
             ? ""
             : "not measured: the reference trainings are not built (libtorch)";
}

std::vector<std::vector<std::string>> TransformerCommands(const BenchContext& context, int world,
                                                          const std::vector<std::string>& options) {
  std::vector<std::string> command = {(context.models_folder / "transformer").string()};
  command.insert(command.end(), options.begin(), options.end());
  return std::vector<std::vector<std::string>>(static_cast<std::size_t>(world), command);
}

double Recorded::CpuSeconds() const {
  double seconds = tracer_cpu_s;
  for (const RankResult& rank : result.ranks) {
    seconds += std::chrono::duration<double>(rank.cpu_time).count();
  }
  return seconds;
}

Result<Recorded> RunRecorded(const BenchContext& context, Supervisor* supervisor,
                             const std::vector<std::vector<std::string>>& commands) {
  REPRISE_ASSIGN_OR_RETURN(const auto folder, FreshFolder(context, "recorded"));
  AttemptSpec spec;
  spec.commands = commands;
  spec.checkpoint_folder = folder / "ckpt";
  spec.logbook_folder = folder / "logbook";
  spec.output_folder = folder / "output";
  for (const auto& path : {spec.checkpoint_folder, spec.logbook_folder, spec.output_folder}) {
    REPRISE_RETURN_IF_ERROR(MakeFolders(path));
  }
  Recorded recorded;
  const double before = OwnCpuSeconds();
  REPRISE_ASSIGN_OR_RETURN(recorded.result, supervisor->Run(spec));
  recorded.tracer_cpu_s = OwnCpuSeconds() - before;
  REPRISE_RETURN_IF_ERROR(CheckEnds(recorded.result));
  for (const AttemptEvent& event : recorded.result.events) {
    recorded.record_count += std::holds_alternative<RecordEvent>(event) ? 1 : 0;
    recorded.output_count += std::holds_alternative<OutputEvent>(event) ? 1 : 0;
  }
  return recorded;
}

Result<PlainRun> RunUnrecorded(const BenchContext& context,
                               const std::vector<std::vector<std::string>>& commands,
                               bool with_logbook) {
  REPRISE_ASSIGN_OR_RETURN(const auto folder, FreshFolder(context, "unrecorded"));
  PlainSpec spec;
  spec.commands = commands;
  spec.output_file = folder / "output";
  if (with_logbook) {
    spec.logbook_folder = folder / "logbook";
    REPRISE_RETURN_IF_ERROR(MakeFolders(spec.logbook_folder));
  }
  return RunPlain(spec);
}

}  // namespace reprise::bench
