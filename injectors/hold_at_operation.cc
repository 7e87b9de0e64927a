// Holds one rank before its n-th file operation of a save until the other ranks stand still, then
// kills all of them or lets the rank go on.
//
// Models: a rank that is slower than its peers (a slow disk, a busy machine, a lost page) when the
// job is killed. Prefixes of one witnessed order never show what the others do by themselves while
// one is late; with the rank held they do it, and the log is the witness. Released, it shows
// whether being late alone does harm.

#include <fmt/format.h>

#include "injectors/injector.h"
#include "injectors/kill.h"

namespace reprise {
namespace {

std::string ToText(const Standstill& others) {
  const std::string count = fmt::format("{} operation{} of the others", others.operation_count,
                                        others.operation_count == 1 ? "" : "s");
  switch (others.reason) {
    case Standstill::Reason::kStill:
      return count + ", which stand still";
    case Standstill::Reason::kAllEnded:
      return count + ", which have ended";
    case Standstill::Reason::kLimit:
      break;
  }
  return count + ", which never stood still";
}

class HoldAtOperation final : public Injector {
 public:
  HoldAtOperation(OperationAddress address, bool then_kill)
      : address_(address), then_kill_(then_kill) {}

  Action OnOperation(const Operation& operation) override {
    if (fired_ || operation.address != address_) {
      return Action::Continue();
    }
    fired_ = true;
    CountFired(fmt::format("rank {} held before its operation {} of save {} ({} {})", address_.rank,
                           address_.n, address_.save, operation.call, operation.path));
    return Action::HoldRank();
  }

  Action OnStandstill(const Standstill& others) override {
    const Victim all = Victim::All();
    CountFired(
        fmt::format("{} after {}", then_kill_ ? all.ToText() : "it goes on", ToText(others)));
    return then_kill_ ? all.Kill() : Action::Continue();
  }

 private:
  OperationAddress address_;
  bool then_kill_;
  bool fired_ = false;
};

Result<std::unique_ptr<Injector>> Make(const Params& params) {
  REPRISE_ASSIGN_OR_RETURN(const OperationAddress address,
                           OperationAddress::Parse(params.Text("operation")));
  return std::make_unique<HoldAtOperation>(address, params.Text("then") == "kill");
}

}  // namespace

InjectorInfo HoldAtOperationInfo() {
  return {.name = "hold.operation",
          .help =
              "one rank waits before its n-th file operation of a save until the others stand "
              "still",
          .stage = InjectorStage::kLive,
          .params = {{.name = "operation",
                      .help = "rank/save/n, each counted from 0",
                      .type = ParamType::kText,
                      .domain = ParamDomain::kOperation},
                     {.name = "then",
                      .help = "SIGKILL to all ranks, or the rank goes on",
                      .type = ParamType::kEnum,
                      .fallback = "kill",
                      .choices = {"kill", "release"}}},
          .make = Make};
}

}  // namespace reprise
