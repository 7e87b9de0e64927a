// Wall time of the smoke scenarios, as a user runs them.

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <thread>

#include "benchmarks/figure.h"
#include "benchmarks/training.h"

namespace reprise::bench {
namespace {

Status Measure(const BenchContext& context, const std::function<void(Figure)>& emit) {
  Figure figure{.name = "smoke.wall", .unit = "s", .goal = Goal::AtMost(60)};
  figure.note = WhyNoTraining(context);
  std::error_code error;
  if (figure.note.empty() && !std::filesystem::is_directory(context.scenarios / "smoke", error)) {
    figure.note = fmt::format(
        "not measured: no folder {}; begin at the root of the repository, or "
        "name it with --scenarios",
        (context.scenarios / "smoke").string());
  }
  if (!figure.note.empty()) {
    emit(std::move(figure));
    return {};
  }
  REPRISE_ASSIGN_OR_RETURN(const auto folder, FreshFolder(context, "smoke"));
  PlainSpec spec;
  spec.commands = {{context.program.string(), "run", (context.scenarios / "smoke").string(),
                    "--out", (folder / "out").string(), "--quiet"}};
  spec.output_file = folder / "output";
  REPRISE_ASSIGN_OR_RETURN(const PlainRun run, RunPlain(spec));
  figure.value = std::chrono::duration<double>(run.wall_time).count();
  figure.note = fmt::format("{} cores", std::thread::hardware_concurrency());
  emit(std::move(figure));
  return {};
}

}  // namespace

FigureGroup SmokeFigures() { return {"smoke", "wall time of the smoke scenarios", Measure}; }

}  // namespace reprise::bench
