// Kills at the n-th file operation that a rank makes in a save.
//
// Models: SIGKILL, OOM killer, spot reclaim without notice. The page cache survives, so what
// completed operations wrote is visible to the restart (crash model K); power loss is another
// model. The write in flight can be cut after `bytes` bytes, as the kernel may do between two pages
// (mm/filemap.c, generic_perform_write: a fatal signal ends the copy loop).

#include <fmt/format.h>

#include "injectors/injector.h"
#include "injectors/kill.h"

namespace reprise {
namespace {

class KillAtOperation final : public Injector {
 public:
  KillAtOperation(OperationAddress address, CutPoint cut, Victim victim)
      : address_(address), cut_(cut), victim_(victim) {}

  Action OnOperation(const Operation& operation) override {
    if (fired_ || operation.address != address_ || !CanBeCut(operation)) {
      return Action::Continue();
    }
    fired_ = true;
    CountFired(fmt::format("{} {} rank {}, save {}, operation {} ({} {})", victim_.ToText(),
                           CutInWords(operation), address_.rank, address_.save, address_.n,
                           operation.call, operation.path));
    return victim_.Kill(cut_);
  }

 private:
  // A write can only be cut inside: a cut at or past its end would be another fault than the
  // plan's.
  [[nodiscard]] bool CanBeCut(const Operation& operation) const {
    return cut_.kind != CutPoint::Kind::kBytes ||
           (operation.kind == OperationKind::kWrite && operation.length_bytes > cut_.bytes);
  }

  [[nodiscard]] std::string CutInWords(const Operation& operation) const {
    return cut_.kind == CutPoint::Kind::kBytes
               ? fmt::format("after {} of {} bytes of", cut_.bytes, operation.length_bytes)
               : cut_.ToText();
  }

  OperationAddress address_;
  CutPoint cut_;
  Victim victim_;
  bool fired_ = false;
};

Result<std::unique_ptr<Injector>> Make(const Params& params) {
  REPRISE_ASSIGN_OR_RETURN(const OperationAddress address,
                           OperationAddress::Parse(params.Text("operation")));
  REPRISE_ASSIGN_OR_RETURN(const CutPoint cut, CutPoint::Parse(params.Text("cut")));
  const Victim victim =
      params.Text("victim") == "rank" ? Victim::Rank(address.rank) : Victim::All();
  return std::make_unique<KillAtOperation>(address, cut, victim);
}

}  // namespace

InjectorInfo KillAtOperationInfo() {
  return {.name = "kill.operation",
          .help = "SIGKILL at one rank's n-th file operation of a save",
          .stage = InjectorStage::kLive,
          .params = {{.name = "operation",
                      .help = "rank/save/n, each counted from 0",
                      .type = ParamType::kText,
                      .domain = ParamDomain::kOperation},
                     {.name = "cut",
                      .help = "before or after the operation, or after N bytes of a longer write",
                      .type = ParamType::kEnum,
                      .fallback = "before",
                      .choices = {"before", "after", "bytes:"}},
                     {.name = "victim",
                      .help = "all ranks, or only the rank that makes the operation",
                      .type = ParamType::kEnum,
                      .fallback = "all",
                      .choices = {"all", "rank"}}},
          .make = Make};
}

}  // namespace reprise
