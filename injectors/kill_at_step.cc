// Kills at a point of an optimizer step: after it, before the update, between micro-batches.
//
// Models: SIGKILL between saves, where nothing on disk is in flight; what differs is how much of
// the accumulation window, of the schedule and of the data position was already advanced.

#include <fmt/format.h>

#include "injectors/injector.h"
#include "injectors/kill.h"

namespace reprise {
namespace {

enum class When { kAfter, kBeforeOptimizer, kMicro };

struct Moment {
  std::int64_t step = 0;  // update that is completed (kAfter) or worked towards, counted from 1
  When when = When::kAfter;
  std::int64_t micro = 0;  // of kMicro

  [[nodiscard]] bool Matches(const LogRecord& record) const {
    switch (when) {
      case When::kAfter:
        if (step == 0) {  // no step record has step 0: it is the state before the first forward
          const auto* ready = std::get_if<ReadyRecord>(&record);
          return ready != nullptr && ready->step == 0;
        } else {
          const auto* done = std::get_if<StepRecord>(&record);
          return done != nullptr && done->step == step;
        }
      case When::kBeforeOptimizer: {
        const auto* optimizer = std::get_if<OptimizerRecord>(&record);
        return optimizer != nullptr && optimizer->step == step;
      }
      case When::kMicro:
        break;
    }
    const auto* batch = std::get_if<MicroBatchRecord>(&record);
    return batch != nullptr && batch->step == step && batch->micro == micro;
  }

  [[nodiscard]] std::string ToText() const {
    switch (when) {
      case When::kAfter:
        return step == 0 ? "before the first forward" : fmt::format("after step {}", step);
      case When::kBeforeOptimizer:
        return fmt::format("before update {}", step);
      case When::kMicro:
        break;
    }
    return fmt::format("at the start of micro-batch {} of update {}", micro, step);
  }
};

class KillAtStep final : public Injector {
 public:
  KillAtStep(Moment moment, int watch, Victim victim)
      : moment_(moment), watch_(watch), victim_(victim) {}

  Action OnRecord(int rank, const LogRecord& record) override {
    if (fired_ || rank != watch_ || !moment_.Matches(record)) {
      return Action::Continue();
    }
    fired_ = true;
    CountFired(fmt::format("{} {} of rank {}", victim_.ToText(), moment_.ToText(), watch_));
    return victim_.Kill();
  }

 private:
  Moment moment_;
  int watch_;
  Victim victim_;
  bool fired_ = false;
};

Result<std::unique_ptr<Injector>> Make(const Params& params) {
  Moment moment{.step = params.Integer("step")};
  const std::string& when = params.Text("when");
  if (when != "after") {
    const bool micro = when != "before-optimizer";
    moment.when = micro ? When::kMicro : When::kBeforeOptimizer;
    moment.micro = micro ? NumberAfterColon(when) : 0;
    if (moment.step == 0) {
      return Fail(ErrorCode::kInvalidInput,
                  fmt::format("expected 1 or more with \"when\": \"{}\", found 0: updates are "
                              "counted from 1",
                              when),
                  "step");
    }
  }
  const std::string& victim = params.Text("victim");
  return std::make_unique<KillAtStep>(
      moment, static_cast<int>(params.Integer("watch")),
      victim == "all" ? Victim::All() : Victim::Rank(static_cast<int>(NumberAfterColon(victim))));
}

}  // namespace

InjectorInfo KillAtStepInfo() {
  return {.name = "kill.step",
          .help = "SIGKILL after a step, before its update or at one of its micro-batches",
          .stage = InjectorStage::kLive,
          .params = {{.name = "step",
                      .help = "optimizer step, counted from 1; 0: before the first forward",
                      .domain = ParamDomain::kStep},
                     {.name = "when",
                      .help = "after the step, before its update, or at its micro-batch N (from 0)",
                      .type = ParamType::kEnum,
                      .fallback = "after",
                      .choices = {"after", "before-optimizer", "micro:"}},
                     {.name = "victim",
                      .help = "all ranks, or one",
                      .type = ParamType::kEnum,
                      .fallback = "all",
                      .choices = {"all", "rank:"},
                      .domain = ParamDomain::kRank},
                     {.name = "watch",
                      .help = "rank whose logbook is watched",
                      .fallback = "0",
                      .max = 65'535,
                      .domain = ParamDomain::kRank}},
          .make = Make};
}

}  // namespace reprise
