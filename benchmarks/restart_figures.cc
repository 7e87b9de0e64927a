// A restart through the fork server over a cold start: from the request until all is ready for the
// first forward, the checkpoint loaded.

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <vector>

#include "benchmarks/figure.h"
#include "benchmarks/training.h"
#include "harness/base/files.h"
#include "harness/campaign/life.h"

namespace reprise::bench {
namespace {

constexpr int kTurns = 9;
constexpr int kSteps = 4;  // saved at the end, so that a restart only loads

// Seconds until the rank is ready. REQUIRES: `folder` holds the checkpoint.
Result<double> RestartSeconds(Supervisor* supervisor, const Target& target,
                              const BenchContext& context, bool cold) {
  Life life;
  life.target = &target;
  life.checkpoint_folder = context.work_folder / "restart-ckpt";
  REPRISE_ASSIGN_OR_RETURN(life.attempt_folder, FreshFolder(context, "restart"));
  life.models_folder = context.models_folder;
  life.cold = cold;
  REPRISE_ASSIGN_OR_RETURN(const LifeResult result, RunLife(supervisor, life));
  const double seconds = std::chrono::duration<double>(result.ready_after).count();
  if (seconds <= 0) {
    return Fail(ErrorCode::kSystem, "the training never became ready", "restart.libtorch");
  }
  return seconds;
}

Status Measure(const BenchContext& context, const std::function<void(Figure)>& emit) {
  Figure figure{.name = "restart.libtorch", .goal = Goal::AtMost(1.0 / 7)};
  figure.note = WhyNoTraining(context);
  if (!figure.note.empty()) {
    emit(std::move(figure));
    return {};
  }
  REPRISE_ASSIGN_OR_RETURN(const auto supervisor, Supervisor::Create());
  REPRISE_RETURN_IF_ERROR(FreshFolder(context, "restart-ckpt"));
  Target target;
  target.id = "transformer";
  target.command = {"{models}/transformer", "--ckpt", "{ckpt}", "--steps", "{steps}"};
  target.steps = kSteps;
  target.fork_server = true;
  // The first life saves; the second starts the server.
  for (const bool cold : {true, false}) {
    REPRISE_RETURN_IF_ERROR(RestartSeconds(supervisor.get(), target, context, cold));
  }
  std::vector<double> ratios;
  std::vector<double> forked;
  for (int turn = 0; turn < kTurns; ++turn) {
    REPRISE_ASSIGN_OR_RETURN(const double cold,
                             RestartSeconds(supervisor.get(), target, context, true));
    REPRISE_ASSIGN_OR_RETURN(forked.emplace_back(),
                             RestartSeconds(supervisor.get(), target, context, false));
    ratios.push_back(forked.back() / cold);
  }
  figure.value = Median(ratios);
  figure.note = fmt::format("{:.0f} ms through the fork server; one rank", Median(forked) * 1e3);
  emit(std::move(figure));
  return {};
}

}  // namespace

FigureGroup RestartFigures() {
  return {"restart", "a restart through the fork server over a cold start", Measure};
}

}  // namespace reprise::bench
