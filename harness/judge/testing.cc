// Synthetic runs; see testing.h.

#include "harness/judge/testing.h"

#include <fmt/format.h>

#include "harness/base/random.h"

namespace reprise::testing {
namespace {

const std::vector<std::pair<std::string, std::string>>& TensorKeys() {  // kind/path, component
  static const std::vector<std::pair<std::string, std::string>> keys = {
      {"weight/embed", "weights"},
      {"weight/head", "weights"},
      {"exp_avg/embed", "optimizer.moments"},
      {"exp_avg/mlp", "optimizer.moments"},
      {"ema/embed", "ema"},
      {"rng/worker-0", "rng.torch"},
      {"rng/worker-1", "rng.torch"}};
  return keys;
}

bool IsGenerator(const std::string& key) { return key.rfind("rng/", 0) == 0; }
bool IsSharded(const std::string& key) {
  return key.rfind("exp_avg/", 0) == 0 || key.rfind("ema/", 0) == 0;
}

DigestSum RowDigest(const std::string& key, std::int64_t row, std::int64_t step) {
  if (step < 0 || (step == 0 && key.rfind("exp_avg/", 0) == 0)) {
    return {};  // moments begin at zero
  }
  Random random = Random(static_cast<std::uint64_t>(step * 1000 + row)).Split(key);
  return {random.Next(), random.Next()};
}

struct Held {
  TensorRecord record;
  std::int64_t first_row = 0;
  std::int64_t row_count = 0;
};

std::vector<Held> HeldBy(int rank, const RunSpec& spec) {
  std::vector<Held> held;
  for (const auto& [key, component] : TensorKeys()) {
    const std::size_t slash = key.find('/');
    Held item;
    item.record.component = component;
    item.record.kind = key.substr(0, slash);
    item.record.path = key.substr(slash + 1);
    item.record.global_shape = {kRows};
    item.row_count = kRows;
    if (IsGenerator(key)) {
      if ((key.back() - '0') % spec.world != rank) {
        continue;
      }
    } else if (IsSharded(key)) {
      item.first_row = kRows * rank / spec.world;
      item.row_count = kRows * (rank + 1) / spec.world - item.first_row;
    } else {
      item.record.replica_index = rank;
      item.record.replica_count = spec.world;
    }
    item.record.slice = {{item.first_row}, {item.row_count}};
    if (key == "weight/head" && spec.tied) {
      item.record.alias_of = "weight/embed";
    }
    held.push_back(item);
  }
  return held;
}

StateRecord MakeState(const RunSpec& spec, const std::vector<Held>& held, const Place& place) {
  StateRecord state{place.reading, place.step, {}, {}};
  for (std::size_t i = 0; i < held.size(); ++i) {
    std::string key = held[i].record.Key();
    DigestSum sum;
    bool is_present = true;
    for (std::int64_t row = held[i].first_row; row < held[i].first_row + held[i].row_count; ++row) {
      const auto step = spec.bits_of(key, row, place);
      is_present = is_present && step.has_value();
      sum += RowDigest(spec.source(key, place), row, step.value_or(0));
    }
    if (is_present) {
      state.tensors[static_cast<int>(i)] = sum;
    }
  }
  for (const char* name : {"data.position", "scheduler.step", "optimizer.step", "ema.updates"}) {
    state.scalars[name] = spec.scalar(name, place);
  }
  return state;
}

class Writer {
 public:
  Writer(const RunSpec& spec, int rank) : spec_(spec), rank_(rank), held_(HeldBy(rank, spec)) {
    book_.rank = rank;
  }

  Logbook Write() {
    Add(StartRecord{rank_, spec_.world, spec_.from > 0 ? 1 : 0, {}});
    NamesRecord names;
    for (const Held& item : held_) {
      names.tensors.push_back(item.record);
    }
    Add(names);
    if (spec_.restores) {
      Add(RestoredRecord{spec_.from, spec_.checkpoint, spec_.refused});
      AddState("restored", spec_.from);
    }
    if (spec_.from == 0) {
      Add(EpochRecord{0, 0});
    }
    Add(ReadyRecord{spec_.from});
    AddState("ready", spec_.from);
    for (std::int64_t step = spec_.from + 1; step <= spec_.to; ++step) {
      AddStep(step);
    }
    if (spec_.ends) {
      Add(EndRecord{spec_.to});
    }
    return std::move(book_);
  }

 private:
  void Add(LogRecord record) { book_.records.push_back(std::move(record)); }
  void AddState(const char* reading, std::int64_t step) {
    Add(MakeState(spec_, held_, {reading, step, rank_}));
  }

  void AddStep(std::int64_t step) {
    for (std::int64_t worker = rank_; worker < kWorkers; worker += spec_.world) {
      const std::vector<std::int64_t> ids =
          spec_.ids ? spec_.ids(step, worker) : RightIds(spec_.batch_of(step), worker);
      Add(MicroBatchRecord{step, 0, worker, ids, fmt::format("{}", ids.front())});
    }
    Add(OptimizerRecord{step});
    Add(StepRecord{step,
                   FloatBits::Of(spec_.loss(step)),
                   {FloatBits::Of(spec_.rate(step))},
                   {FloatBits::Of(0.1)}});
    AddState("step", step);
    if (spec_.begun.contains(step)) {
      Add(SaveBeginRecord{step});
      AddState("request", step);
    }
    if (spec_.acknowledged.contains(step)) {
      Add(SaveAckRecord{step});
    }
    if (step % 6 == 0) {
      Add(EvalRecord{step, FloatBits::Of(spec_.loss(step))});
    }
    if (step % kStepsPerEpoch == 0) {
      Add(EpochRecord{step, step / kStepsPerEpoch});
    }
  }

  const RunSpec& spec_;
  int rank_;
  std::vector<Held> held_;
  Logbook book_;
};

}  // namespace

std::vector<std::int64_t> RightIds(std::int64_t step, std::int64_t worker) {
  const std::int64_t epoch = (step - 1) / kStepsPerEpoch;
  const std::int64_t place = (step - 1) % kStepsPerEpoch * kWorkers + worker;
  const std::int64_t count = kStepsPerEpoch * kWorkers;
  // An affine permutation of the epoch's samples: 3 and 7 have no divisor in common with the count.
  const std::int64_t factor = epoch % 2 == 0 ? 3 : 7;
  return {(place * factor + epoch * 4 + 1) % count};
}

AttemptEvidence MakeRun(const RunSpec& spec) {
  AttemptEvidence attempt;
  attempt.world = spec.world;
  for (int rank = 0; rank < spec.world; ++rank) {
    attempt.logbooks.push_back(Writer(spec, rank).Write());
    for (std::size_t i = 0; i < attempt.logbooks.back().records.size(); ++i) {
      attempt.result.events.emplace_back(RecordEvent{rank, {}});
    }
    attempt.result.ranks.emplace_back();
  }
  if (!spec.ends) {
    attempt.result.end = AttemptEnd::kFault;
    attempt.result.events.emplace_back(FaultEvent{"kill.step", "SIGKILL to all ranks"});
    for (RankResult& rank : attempt.result.ranks) {
      rank.end = RankEnd::kKilledByFault;
    }
  }
  return attempt;
}

StoredCheckpoint MakeStored(std::int64_t step) {
  StoredCheckpoint stored;
  stored.name = fmt::format("step-{}", step);
  stored.step = step;
  const RunSpec spec;
  const std::vector<Held> held = HeldBy(0, spec);
  const StateRecord state = MakeState(spec, held, {"request", step, 0});
  for (const auto& [number, sum] : state.tensors) {
    const TensorRecord& record = held[static_cast<std::size_t>(number)].record;
    stored.tensors[record.Key()] = {record, sum, true};
  }
  stored.scalars = state.scalars;
  return stored;
}

Scene::Scene() {
  the_case.id = "case";
  the_case.faults = {{"kill.step", 0, {{"step", "9"}}}};
  the_case.world = {1, 1};
  target.steps = kSteps;
  target.world_invariant = true;
  killed.to = 9;
  killed.ends = false;
  restart.from = 8;
  restart.checkpoint = "step-8";
  stored = {MakeStored(8), MakeStored(4)};
}

Outcome Scene::Judge() const {
  const AttemptEvidence whole = MakeRun(reference);
  JudgeInput input;
  input.the_case = &the_case;
  input.target = &target;
  input.reference = &whole;
  input.attempts = {MakeRun(killed), MakeRun(restart)};
  input.stored = stored;
  input.format_known = format_known;
  input.damaged_files_after = {damaged_files};
  input.stored_at_end = stored_at_end;
  input.stored_at_end_known = stored_at_end_known;
  if (edit) {
    edit(input.attempts[0], input.attempts[1]);
  }
  return reprise::Judge(input);
}

Scene FinishedScene() {
  Scene scene;
  scene.the_case.faults = {};
  scene.killed.to = kSteps;
  scene.killed.ends = true;
  scene.stored_at_end_known = true;
  scene.stored_at_end = scene.stored;
  return scene;
}

void EndWith(AttemptEvidence& attempt, RankEnd end, int status, const std::string& line) {
  attempt.result.end = AttemptEnd::kAllExited;
  attempt.result.ranks.at(0).end = end;
  attempt.result.ranks.at(0).status = status;
  attempt.result.events.emplace_back(OutputEvent{0, 2, line});
}

void AddOperation(AttemptEvidence& attempt, std::int64_t step, Operation operation) {
  std::vector<AttemptEvent>& events = attempt.result.events;
  const std::vector<LogRecord>& records = attempt.logbooks.at(0).records;
  std::size_t number = 0;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto* event = std::get_if<RecordEvent>(&events[i]);
    if (event == nullptr || event->rank != 0) {
      continue;
    }
    const auto* ack = std::get_if<SaveAckRecord>(&records.at(number++));
    if (ack != nullptr && ack->step == step) {
      events.insert(events.begin() + static_cast<std::ptrdiff_t>(i),
                    OperationEvent{std::move(operation)});
      return;
    }
  }
  events.emplace_back(OperationEvent{std::move(operation)});
}

}  // namespace reprise::testing
