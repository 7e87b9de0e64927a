// Kills after the n-th logbook record of a rank, whatever that record is.
//
// Models: a kill at any moment of a run (with a random n: the seeded random event). Records come
// before and after loads, micro-batches, updates and saves, so every phase is hit without knowing
// it.

#include <fmt/format.h>

#include "injectors/injector.h"
#include "injectors/kill.h"

namespace reprise {
namespace {

class KillAtRecord final : public Injector {
 public:
  KillAtRecord(int rank, std::int64_t record, Victim victim)
      : rank_(rank), record_(record), victim_(victim) {}

  Action OnRecord(int rank, const LogRecord& /*record*/) override {
    if (rank != rank_ || seen_++ != record_) {
      return Action::Continue();
    }
    CountFired(fmt::format("{} after record {} of rank {}", victim_.ToText(), record_, rank_));
    return victim_.Kill();
  }

 private:
  int rank_;
  std::int64_t record_;
  Victim victim_;
  std::int64_t seen_ = 0;
};

Result<std::unique_ptr<Injector>> Make(const Params& params) {
  const int rank = static_cast<int>(params.Integer("rank"));
  const Victim victim = params.Text("victim") == "rank" ? Victim::Rank(rank) : Victim::All();
  return std::make_unique<KillAtRecord>(rank, params.Integer("record"), victim);
}

}  // namespace

InjectorInfo KillAtRecordInfo() {
  return {.name = "kill.record",
          .help = "SIGKILL after the n-th logbook record of a rank",
          .stage = InjectorStage::kLive,
          .params = {{.name = "rank",
                      .help = "rank whose records are counted",
                      .max = 65'535,
                      .domain = ParamDomain::kRank},
                     {.name = "record",
                      .help = "ordinal of the record, counted from 0",
                      .domain = ParamDomain::kRecord},
                     {.name = "victim",
                      .help = "all ranks, or only the rank that wrote the record",
                      .type = ParamType::kEnum,
                      .fallback = "all",
                      .choices = {"all", "rank"}}},
          .make = Make};
}

}  // namespace reprise
