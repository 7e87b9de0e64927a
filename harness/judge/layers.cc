// The layers D1 to D6; see layers.h and section "Layers" of docs/user-guide.md.

#include "harness/judge/layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

#include "harness/judge/value_text.h"

namespace reprise {
namespace {

class Comparer {
 public:
  explicit Comparer(const CompareSpec& spec)
      : spec_(spec), reference_(*spec.reference), run_(*spec.run) {}

  LayerComparison Take() {
    const std::int64_t r = spec_.first_step;
    const StateView* start = run_.FirstState("ready");
    if (start == nullptr) {
      start = run_.FirstState("restored");
    }
    if (start != nullptr && start->step != r) {
      Add(Subject::kScalar, {Layer::kD1, r, -1, "step", std::to_string(r),
                             std::to_string(start->step), "reading \"" + start->reading + "\""})
          .component = "step";
    }
    CompareState(start, r, Layer::kD1, Which::kTensorsButRandom);
    if (start == nullptr) {
      CompareFile();
    }
    if (!spec_.trajectory) {
      CompareState(start, r, Layer::kD4, Which::kScalars);
      return std::move(result_);
    }
    CompareBatches(r + 1, Layer::kD2);
    CompareState(start, r, Layer::kD3, Which::kRandom);
    CompareStep(r + 1, Layer::kD3, Layer::kD4);
    CompareState(start, r, Layer::kD4, Which::kScalars);
    CompareScalarsAndTensors(r + 1, Layer::kD4, Layer::kD5);
    CompareEvents(r + 1);
    CompareLater(r + 2, Layer::kD5);
    for (const std::int64_t step : StepsFrom(r + 3)) {
      if (!IsFull()) {
        CompareLater(step, Layer::kD6);
      }
    }
    return std::move(result_);
  }

 private:
  enum class Which { kAll, kRandom, kTensorsButRandom, kScalars, kTensors };

  static bool Selects(Which which, std::string_view component) {
    switch (which) {
      case Which::kRandom:
        return IsRandomState(component);
      case Which::kTensorsButRandom:
        return !IsRandomState(component);
      case Which::kAll:
      case Which::kScalars:
      case Which::kTensors:
        return true;
    }
    return true;
  }

  [[nodiscard]] bool IsFull() const { return result_.differences.size() >= kMaxDifferences; }

  Difference& Add(Subject subject, Divergence where) {
    if (IsFull()) {
      overflow_ = {subject, std::move(where), {}, -1, -1, {}};
      return overflow_;
    }
    result_.differences.push_back({subject, std::move(where), {}, -1, -1, {}});
    return result_.differences.back();
  }

  // A reading may be several records, which a kill can part: the last of a logbook may lack some.
  [[nodiscard]] bool IsWhole(const StateView& state) const {
    return state.rank_count >= run_.World() && !(spec_.is_cut && state.ends_logbook);
  }

  [[nodiscard]] std::int64_t LastBatchStep() const {
    return run_.Batches().empty() ? -1 : std::get<0>(run_.Batches().rbegin()->first);
  }

  // The steps that one of both recorded, up to the run's last. Not each number: a logbook that is
  // wrong may jump to a step a billion away.
  [[nodiscard]] std::set<std::int64_t> StepsFrom(std::int64_t first) const {
    std::set<std::int64_t> steps;
    const auto add = [&](const auto& records) {
      for (const auto& [step, record] : records) {
        steps.insert(step);
      }
    };
    for (const RunView* view : {&reference_, &run_}) {
      add(view->Steps());
      add(view->Evals());
      add(view->Epochs());
      for (const auto& [key, batch] : view->Batches()) {
        steps.insert(std::get<0>(key));
      }
      for (const StateView& state : view->States()) {
        steps.insert(state.step);
      }
    }
    steps.erase(steps.begin(), steps.lower_bound(first));
    steps.erase(steps.upper_bound(std::max(run_.LastStep(), LastBatchStep())), steps.end());
    return steps;
  }

  void CompareLater(std::int64_t step, Layer layer) {
    const bool is_next = layer == Layer::kD5;
    CompareBatches(step, is_next ? Layer::kD2 : layer);
    CompareStep(step, layer, is_next ? Layer::kD4 : layer);
    CompareScalarsAndTensors(step, is_next ? Layer::kD4 : layer, layer);
    CompareEvents(step);
  }

  void CompareScalarsAndTensors(std::int64_t step, Layer scalars, Layer tensors) {
    const StateView* state = run_.FindState("step", step);
    CompareState(state, step, scalars, Which::kScalars);
    CompareState(state, step, tensors, Which::kTensors);
    // What a save is asked to write must be the state of its step, whatever the save then does.
    CompareState(run_.FindState("request", step), step, tensors, Which::kAll);
  }

  // Scalars and tensors of one component lie side by side in causal order.
  void CompareState(const StateView* state, std::int64_t step, Layer layer, Which which) {
    if (state == nullptr) {
      return;
    }
    const std::vector<const StateView*> expected = reference_.StatesAt(step);
    if (expected.empty()) {
      return;
    }
    step_ = step;
    const std::size_t before = result_.differences.size();
    if (which != Which::kScalars) {
      CompareTensors(*state, expected, layer, which);
    }
    if (which != Which::kTensors && which != Which::kTensorsButRandom) {
      CompareScalars(*state, expected, layer, which);
    }
    std::stable_sort(result_.differences.begin() + static_cast<std::ptrdiff_t>(before),
                     result_.differences.end(), [](const Difference& a, const Difference& b) {
                       return ComponentOrder(a.component) < ComponentOrder(b.component);
                     });
  }

  void CompareTensors(const StateView& state, const std::vector<const StateView*>& expected,
                      Layer layer, Which which) {
    for (const int id : reference_.Order()) {
      const TensorIdentity& tensor = reference_.Tensors()[static_cast<std::size_t>(id)];
      if (Selects(which, tensor.record.component)) {
        CompareTensor(state, expected, id, layer);
      }
    }
    for (const int id : run_.Order()) {
      const TensorIdentity& tensor = run_.Tensors()[static_cast<std::size_t>(id)];
      if (Selects(which, tensor.record.component)) {
        CompareExtra(state, expected, id, layer);
      }
    }
  }

  void CompareExtra(const StateView& state, const std::vector<const StateView*>& expected, int id,
                    Layer layer) {
    const TensorIdentity& tensor = run_.Tensors()[static_cast<std::size_t>(id)];
    const int other = reference_.FindTensor(tensor.record.Key());
    if (!run_.Read(state, id).present ||
        (other >= 0 && reference_.ReadFirst(expected, other).present)) {
      return;
    }
    Difference& difference =
        Add(Subject::kExtraTensor, {layer, step_, -1, tensor.record.Key(), "absent",
                                    Describe(tensor.record), "reading \"" + state.reading + "\""});
    difference.component = tensor.record.component;
    difference.run_tensor = id;
  }

  void CompareTensor(const StateView& state, const std::vector<const StateView*>& expected, int id,
                     Layer layer) {
    const TensorReading wanted = reference_.ReadFirst(expected, id);
    if (!wanted.covered) {
      return;  // the reference itself cannot tell
    }
    const TensorRecord& record = reference_.Tensors()[static_cast<std::size_t>(id)].record;
    const int run_id = RunTensor(id);
    const TensorReading seen = run_id < 0 ? TensorReading{} : run_.Read(state, run_id);
    const bool is_whole = IsWhole(state);
    if (!seen.covered && !is_whole) {
      if (!spec_.is_cut && result_.uncompared.empty()) {
        result_.uncompared = fmt::format("no whole {} in the reading \"{}\" at step {}",
                                         record.Key(), state.reading, state.step);
      }
      return;
    }
    ++result_.compared_count;
    const auto add = [&](Subject subject, int rank, std::string want, std::string got) {
      Difference& difference = Add(subject, {layer, step_, rank, record.Key(), std::move(want),
                                             std::move(got), "reading \"" + state.reading + "\""});
      difference.component = record.component;
      difference.reference_tensor = id;
      difference.run_tensor = run_id;
      difference.actual = seen.sum;
    };
    if (!seen.present) {
      add(Subject::kMissingTensor, -1, ShowDigest(wanted.sum, record), "absent");
      return;
    }
    const TensorIdentity& actual = run_.Tensors()[static_cast<std::size_t>(run_id)];
    if (!actual.conflict.empty() || actual.record.dtype != record.dtype ||
        actual.record.global_shape != record.global_shape) {
      add(Subject::kDescription, -1, Describe(record),
          actual.conflict.empty() ? Describe(actual.record) : actual.conflict);
    } else if (seen.disagreeing_rank >= 0) {
      add(Subject::kReplicas, seen.disagreeing_rank, "replicas of equal bits",
          fmt::format("rank {} holds other bits than its peers", seen.disagreeing_rank));
    } else if (!seen.covered) {
      add(Subject::kCoverage, -1, "each element exactly once", "holes or overlaps between ranks");
    } else if (!(seen.sum == wanted.sum)) {
      add(Subject::kTensor, -1, ShowDigest(wanted.sum, record),
          ShowDigest(seen.sum, actual.record));
    } else if (actual.record.alias_of != record.alias_of && layer <= Layer::kD3) {
      add(Subject::kAlias, -1, DescribeAlias(record.alias_of),
          DescribeAlias(actual.record.alias_of));
    }
  }

  // Without any reading of the live state, the file is the only witness.
  void CompareFile() {
    if (spec_.loaded == nullptr) {
      return;
    }
    for (const int id : reference_.Order()) {
      const TensorRecord& record = reference_.Tensors()[static_cast<std::size_t>(id)].record;
      if (ReadingsOf(spec_, id).file != ReadingState::kDifferent) {
        continue;
      }
      const StoredTensor& stored = spec_.loaded->tensors.at(record.Key());
      Difference& difference =
          Add(Subject::kTensor, {Layer::kD1, spec_.first_step, -1, record.Key(), "the reference's",
                                 ShowDigest(stored.sum, stored.record), "in the file"});
      difference.component = record.component;
      difference.reference_tensor = id;
      difference.actual = stored.sum;
    }
  }

  int RunTensor(int reference_tensor) {
    if (run_tensor_.empty()) {
      for (const TensorIdentity& tensor : reference_.Tensors()) {
        run_tensor_.push_back(run_.FindTensor(tensor.record.Key()));
      }
    }
    return run_tensor_[static_cast<std::size_t>(reference_tensor)];
  }

  void CompareScalars(const StateView& state, const std::vector<const StateView*>& expected,
                      Layer layer, Which which) {
    std::map<std::string, const RankValues*> wanted;
    for (const StateView* view : expected) {
      for (const auto& [name, values] : view->scalars) {
        wanted.try_emplace(name, &values);
      }
    }
    for (const auto& [name, values] : wanted) {
      if (!Selects(which, name)) {
        continue;
      }
      const auto seen = state.scalars.find(name);
      static const RankValues none;
      CompareScalar({layer, step_, -1, name, {}, {}, "reading \"" + state.reading + "\""}, *values,
                    seen == state.scalars.end() ? none : seen->second, IsWhole(state));
    }
    if (state.reading != "request" || reference_.FindState("request", step_) != nullptr) {
      CompareExtraScalars(state, wanted, layer, which);
    }
  }

  void CompareExtraScalars(const StateView& state,
                           const std::map<std::string, const RankValues*>& wanted, Layer layer,
                           Which which) {
    for (const auto& [name, values] : state.scalars) {
      if (Selects(which, name) && !wanted.contains(name)) {
        AddScalar({layer, step_, -1, name, "absent", values.front().second,
                   "reading \"" + state.reading + "\""});
      }
    }
  }

  void CompareScalar(Divergence where, const RankValues& wanted, const RankValues& seen,
                     bool is_whole) {
    if (seen.empty()) {
      if (is_whole) {
        where.expected = wanted.front().second;
        where.actual = "absent";
        AddScalar(std::move(where));
      }
      return;
    }
    for (const auto& [rank, value] : seen) {
      const std::string* want = ValueFor(wanted, rank);
      if (want == nullptr) {
        continue;
      }
      ++result_.compared_count;
      if (*want != value) {
        where.rank = seen.size() > 1 ? rank : -1;
        where.expected = *want;
        where.actual = value;
        AddScalar(std::move(where));
        return;
      }
    }
  }

  void AddScalar(Divergence where) {
    const std::string name = where.name;
    Add(Subject::kScalar, std::move(where)).component = name;
  }

  // What `rank` should have: the value of all, or its own where the reference's ranks differ. Null:
  // a value per rank cannot be asked at another world size.
  [[nodiscard]] const std::string* ValueFor(const RankValues& wanted, int rank) const {
    const bool agree = std::all_of(wanted.begin(), wanted.end(), [&](const auto& value) {
      return value.second == wanted.front().second;
    });
    if (agree) {
      return &wanted.front().second;
    }
    if (reference_.World() != run_.World()) {
      return nullptr;
    }
    const auto at = std::find_if(wanted.begin(), wanted.end(),
                                 [&](const auto& value) { return value.first == rank; });
    return at == wanted.end() ? nullptr : &at->second;
  }

  void CompareBatches(std::int64_t step, Layer layer) {
    const BatchKey first(step, -1, -1);
    auto wanted = reference_.Batches().lower_bound(first);
    auto seen = run_.Batches().lower_bound(first);
    const auto in_step = [step](const auto& at, const auto& batches) {
      return at != batches.end() && std::get<0>(at->first) == step;
    };
    const bool is_done = run_.LastStep() >= step;
    while (in_step(wanted, reference_.Batches()) || in_step(seen, run_.Batches())) {
      const bool has_wanted = in_step(wanted, reference_.Batches());
      const bool has_seen = in_step(seen, run_.Batches());
      if (has_wanted && (!has_seen || wanted->first < seen->first)) {
        if (is_done) {
          AddBatch(layer, wanted->first, wanted->second.rank, "recorded", "absent");
        }
        ++wanted;
      } else if (has_seen && (!has_wanted || seen->first < wanted->first)) {
        if (reference_.LastStep() >= step) {
          AddBatch(layer, seen->first, seen->second.rank, "absent", "recorded");
        }
        ++seen;
      } else {
        CompareBatch(layer, step, (wanted++)->second, (seen++)->second);
      }
    }
  }

  void AddBatch(Layer layer, const BatchKey& key, int rank, std::string want, std::string got) {
    Add(Subject::kBatch,
        {layer, std::get<0>(key), rank, "micro-batch", std::move(want), std::move(got),
         fmt::format("micro-batch {}, worker {}", std::get<1>(key), std::get<2>(key))});
  }

  void CompareBatch(Layer layer, std::int64_t step, const BatchView& wanted,
                    const BatchView& seen) {
    ++result_.compared_count;
    const std::string detail =
        fmt::format("micro-batch {}, worker {}", seen.record->micro, seen.record->worker);
    if (wanted.record->ids != seen.record->ids) {
      Add(Subject::kIds, {layer, step, seen.rank, "sample ids", Show(wanted.record->ids),
                          Show(seen.record->ids), detail});
    } else if (wanted.record->content != seen.record->content) {
      Add(Subject::kContent, {layer, step, seen.rank, "batch content", wanted.record->content,
                              seen.record->content, detail + "; the ids are equal"});
    } else if (wanted.times != seen.times) {
      Add(Subject::kBatch,
          {layer, step, seen.rank, "micro-batch", fmt::format("recorded {} times", wanted.times),
           fmt::format("recorded {} times", seen.times), detail});
    }
  }

  void CompareStep(std::int64_t step, Layer loss, Layer rates) {
    const auto wanted = reference_.Steps().find(step);
    const auto seen = run_.Steps().find(step);
    if (wanted == reference_.Steps().end()) {
      return;
    }
    if (seen == run_.Steps().end()) {
      return;  // what is not recorded is no difference: completeness.h
    }
    CompareRanks<StepRecord>({loss, step, -1, "loss", {}, {}, {}}, Subject::kLoss, *wanted, *seen,
                             [](const StepRecord& record) { return Show(record.loss); });
    CompareRanks<StepRecord>({rates, step, -1, "learning rate", {}, {}, {}}, Subject::kLearningRate,
                             *wanted, *seen,
                             [](const StepRecord& record) { return Show(record.learning_rate); });
    CompareRanks<StepRecord>({rates, step, -1, "weight decay", {}, {}, {}}, Subject::kWeightDecay,
                             *wanted, *seen,
                             [](const StepRecord& record) { return Show(record.weight_decay); });
  }

  template <typename Record>
  void CompareRanks(Divergence where, Subject subject,
                    const typename ByStep<Record>::value_type& wanted,
                    const typename ByStep<Record>::value_type& seen,
                    const std::function<std::string(const Record&)>& show) {
    const auto texts = [&](const auto& records) {
      RankValues values;
      for (const auto& [rank, record] : records.second) {
        values.emplace_back(rank, show(*record));
      }
      return values;
    };
    const RankValues want = texts(wanted);
    for (const auto& [rank, value] : texts(seen)) {
      const std::string* expected = ValueFor(want, rank);
      if (expected == nullptr) {
        continue;
      }
      ++result_.compared_count;
      if (*expected != value) {
        where.rank = seen.second.size() > 1 ? rank : -1;
        where.expected = *expected;
        where.actual = value;
        Add(subject, std::move(where));
        return;
      }
    }
  }

  void CompareEvents(std::int64_t step) {
    const auto eval = reference_.Evals().find(step);
    const auto seen_eval = run_.Evals().find(step);
    if (eval != reference_.Evals().end() && seen_eval != run_.Evals().end()) {
      CompareRanks<EvalRecord>({Layer::kD6, step, -1, "evaluation loss", {}, {}, {}},
                               Subject::kEval, *eval, *seen_eval,
                               [](const EvalRecord& record) { return Show(record.loss); });
    }
    const auto epoch = reference_.Epochs().find(step);
    const auto seen_epoch = run_.Epochs().find(step);
    if (epoch != reference_.Epochs().end() && seen_epoch != run_.Epochs().end()) {
      CompareRanks<EpochRecord>(
          {Layer::kD6, step, -1, "epoch", {}, {}, {}}, Subject::kEpoch, *epoch, *seen_epoch,
          [](const EpochRecord& record) { return std::to_string(record.epoch); });
    }
  }

  const CompareSpec& spec_;
  const RunView& reference_;
  const RunView& run_;
  std::vector<int> run_tensor_;
  std::int64_t step_ = 0;  // of the states that are being compared, as the reference counts
  LayerComparison result_;
  Difference overflow_;
};

}  // namespace

LayerComparison Compare(const CompareSpec& spec) { return Comparer(spec).Take(); }

}  // namespace reprise
