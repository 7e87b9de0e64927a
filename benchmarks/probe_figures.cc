// CPU time that the probe adds to a step: the digests of all state, at each step, of a transformer
// of 10 million parameters (40 million values with moments and averages).
//
// Loading libraries, making weights and the readings before the first step are in a short and in a
// long run alike; the difference of both is that of the steps between.

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <vector>

#include "benchmarks/figure.h"
#include "benchmarks/training.h"

namespace reprise::bench {
namespace {

constexpr int kTurns = 5;
constexpr int kShortSteps = 1;
constexpr int kLongSteps = 6;

Result<double> CpuSeconds(const BenchContext& context, int steps, bool with_logbook) {
  const auto commands =
      TransformerCommands(context, 1,
                          {"--no-save", "--layers", "8", "--width", "320", "--eval-every", "1000",
                           "--steps", std::to_string(steps)});
  REPRISE_ASSIGN_OR_RETURN(const PlainRun run, RunUnrecorded(context, commands, with_logbook));
  return std::chrono::duration<double>(run.cpu_time).count();
}

Result<double> StepSeconds(const BenchContext& context, bool with_logbook) {
  REPRISE_ASSIGN_OR_RETURN(const double brief, CpuSeconds(context, kShortSteps, with_logbook));
  REPRISE_ASSIGN_OR_RETURN(const double longer, CpuSeconds(context, kLongSteps, with_logbook));
  return (longer - brief) / (kLongSteps - kShortSteps);
}

Status Measure(const BenchContext& context, const std::function<void(Figure)>& emit) {
  Figure figure{.name = "probe.all_state_each_step", .goal = Goal::AtMost(0.05)};
  figure.note = WhyNoTraining(context);
  if (!figure.note.empty()) {
    emit(std::move(figure));
    return {};
  }
  std::vector<double> overheads;
  std::vector<double> silent;
  for (int turn = 0; turn < kTurns; ++turn) {
    REPRISE_ASSIGN_OR_RETURN(silent.emplace_back(), StepSeconds(context, false));
    REPRISE_ASSIGN_OR_RETURN(const double writing, StepSeconds(context, true));
    overheads.push_back(writing / silent.back() - 1);
  }
  figure.value = Median(overheads);
  figure.note =
      fmt::format("10 million parameters; a step without the probe takes {:.0f} ms of CPU",
                  Median(silent) * 1e3);
  emit(std::move(figure));
  return {};
}

}  // namespace

FigureGroup ProbeFigures() {
  return {"probe", "CPU time that digesting all state adds to each step", Measure};
}

}  // namespace reprise::bench
