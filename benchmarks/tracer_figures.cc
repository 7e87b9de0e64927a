// What recording costs: stops between saves, CPU time of a run without saves, time of a traced
// write.

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <vector>

#include "benchmarks/figure.h"
#include "benchmarks/training.h"

namespace reprise::bench {
namespace {

using Commands = std::vector<std::vector<std::string>>;

constexpr int kWorld = 2;  // so that there is traffic over sockets
constexpr int kShortSteps = 5;
constexpr int kLongSteps = 25;
constexpr int kStopsOfLine = 2;  // the entry of its write, and the exit, when it is in the file
constexpr int kCpuSteps = 60;
constexpr int kCpuTurns = 15;

Commands Training(const BenchContext& context, int steps) {
  return TransformerCommands(context, kWorld,
                             {"--no-save", "--layers", "1", "--steps", std::to_string(steps)});
}

Figure StopsOfRecord() { return {.name = "tracer.stops_of_record", .goal = Goal::AtMost(1)}; }

Figure OtherStops() {
  return {.name = "tracer.stops_between_saves", .unit = "stops", .goal = Goal::AtMost(0)};
}

// Starting and ending stop a fixed number of times, so two lengths of the same run tell what the
// steps between them cost.
Status MeasureStops(const BenchContext& context, Supervisor* supervisor,
                    const std::function<void(Figure)>& emit) {
  REPRISE_ASSIGN_OR_RETURN(const Recorded brief,
                           RunRecorded(context, supervisor, Training(context, kShortSteps)));
  REPRISE_ASSIGN_OR_RETURN(const Recorded longer,
                           RunRecorded(context, supervisor, Training(context, kLongSteps)));
  const std::int64_t stops = longer.result.tracer_stop_count - brief.result.tracer_stop_count;
  const std::int64_t lines =
      longer.record_count - brief.record_count + longer.output_count - brief.output_count;
  Figure of_record = StopsOfRecord();
  of_record.value = static_cast<double>(stops) / static_cast<double>(lines);
  of_record.note =
      fmt::format("{} more steps of two ranks over Gloo: {} stops, {} records and lines",
                  kLongSteps - kShortSteps, stops, lines);
  emit(std::move(of_record));
  Figure others = OtherStops();
  others.value = static_cast<double>(stops - kStopsOfLine * lines);
  others.note = "beyond the two of each record and output line, as its write begins and ends";
  emit(std::move(others));
  return {};
}

Result<Figure> MeasureCpu(const BenchContext& context, Supervisor* supervisor) {
  const Commands commands = Training(context, kCpuSteps);
  std::vector<double> ratios;
  std::vector<double> tracer;
  for (int turn = 0; turn < kCpuTurns; ++turn) {
    REPRISE_ASSIGN_OR_RETURN(const PlainRun plain, RunUnrecorded(context, commands, true));
    REPRISE_ASSIGN_OR_RETURN(const Recorded recorded, RunRecorded(context, supervisor, commands));
    const double seconds = std::chrono::duration<double>(plain.cpu_time).count();
    ratios.push_back(recorded.CpuSeconds() / seconds);
    tracer.push_back(recorded.tracer_cpu_s / seconds);
  }
  return Figure{
      .name = "tracer.cpu",
      .goal = Goal::AtMost(1.02),
      .value = Median(ratios),
      .note = fmt::format("{} steps of two ranks without saves; the tracer's own share is "
                          "{:.3f}",
                          kCpuSteps, Median(tracer))};
}

// Appends `count` blocks to a file that is watched, and to one that is not.
Result<Figure> MeasureWrites(const BenchContext& context, Supervisor* supervisor, int block_bytes,
                             int count) {
  const auto writer = [&](const std::string& file) {
    return Commands{{"dd", "if=/dev/zero", "of=" + file, fmt::format("bs={}", block_bytes),
                     fmt::format("count={}", count), "status=none"}};
  };
  const std::string watched = (context.work_folder / "recorded/ckpt/file").string();
  const std::string plain_file = (context.work_folder / "unrecorded/file").string();
  std::vector<double> costs;
  for (int turn = 0; turn < 5; ++turn) {
    REPRISE_ASSIGN_OR_RETURN(const PlainRun plain,
                             RunUnrecorded(context, writer(plain_file), false));
    REPRISE_ASSIGN_OR_RETURN(const Recorded recorded,
                             RunRecorded(context, supervisor, writer(watched)));
    costs.push_back(static_cast<double>((recorded.result.wall_time - plain.wall_time).count()) /
                    count);
  }
  return Figure{
      .name = fmt::format("tracer.write.{}", block_bytes),
      .unit = "us",
      .value = Median(costs),
      .note = fmt::format("wall time that tracing adds to a write of {} bytes", block_bytes)};
}

Status Measure(const BenchContext& context, const std::function<void(Figure)>& emit) {
  REPRISE_ASSIGN_OR_RETURN(const auto supervisor, Supervisor::Create());
  for (const auto& [block_bytes, count] : {std::pair{512, 4'000}, std::pair{262'144, 200}}) {
    REPRISE_ASSIGN_OR_RETURN(Figure figure,
                             MeasureWrites(context, supervisor.get(), block_bytes, count));
    emit(std::move(figure));
  }
  if (const std::string why = WhyNoTraining(context); !why.empty()) {
    for (Figure figure : {StopsOfRecord(), OtherStops(),
                          Figure{.name = "tracer.cpu", .goal = Goal::AtMost(1.02)}}) {
      figure.note = why;
      emit(std::move(figure));
    }
    return {};
  }
  REPRISE_RETURN_IF_ERROR(MeasureStops(context, supervisor.get(), emit));
  REPRISE_ASSIGN_OR_RETURN(Figure cpu, MeasureCpu(context, supervisor.get()));
  emit(std::move(cpu));
  return {};
}

}  // namespace

FigureGroup TracerFigures() {
  return {"tracer", "what recording costs: stops between saves, CPU time, one write", Measure};
}

}  // namespace reprise::bench
