// One attempt as a whole: the logbooks of its ranks, merged by absolute step and by global name.
//
// Nothing here is keyed by rank, so that runs at different world sizes can be laid side by side:
// tensors by key with the digests of their slices added up, micro-batches by (step, micro, logical
// worker). A view points into the logbooks that it was made from; these must outlive it.

#ifndef REPRISE_HARNESS_JUDGE_RUN_VIEW_H_
#define REPRISE_HARNESS_JUDGE_RUN_VIEW_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "harness/judge/judge.h"

namespace reprise {

// A distinct slice of a tensor. Replicas share one slot, shards have one each.
struct Slot {
  int tensor = 0;
  Slice slice;
  std::int64_t element_count = 0;
  int rank = 0;  // the first that holds it
};

struct TensorIdentity {
  TensorRecord record;  // as first described; its slice is that of one rank
  std::int64_t element_count = 0;
  std::vector<int> slots;
  std::string conflict;  // how the ranks' descriptions differ; empty: they agree
};

struct SlotReading {
  DigestSum sum;
  int rank = -1;              // that was read first; -1: not read
  int disagreeing_rank = -1;  // a replica with other bits
  bool overlaps = false;      // held twice without being marked as replicas
};

// Values of the ranks for one name, in the order of the logbooks.
using RankValues = std::vector<std::pair<int, std::string>>;

struct StateView {
  std::string reading;
  std::int64_t step = 0;
  int rank_count = 0;              // ranks that recorded it
  int last_rank = -1;              // that was merged; one rank may need several records
  bool ends_logbook = false;       // of some rank: its last record
  std::vector<SlotReading> slots;  // by slot; shorter than Slots() when names were added later
  std::map<std::string, RankValues> scalars;
};

// One tensor in one state, over all ranks.
struct TensorReading {
  bool present = false;
  bool covered = false;  // each element exactly once
  int disagreeing_rank = -1;
  DigestSum sum;
};

using BatchKey = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // step, micro, worker

struct BatchView {
  int rank = 0;
  const MicroBatchRecord* record = nullptr;
  int times = 1;  // recorded so often under this key
};

template <typename Record>
using ByStep = std::map<std::int64_t, std::vector<std::pair<int, const Record*>>>;

class RunView {
 public:
  explicit RunView(const AttemptEvidence& evidence);

  [[nodiscard]] int World() const { return world_; }
  [[nodiscard]] const std::vector<TensorIdentity>& Tensors() const { return tensors_; }
  [[nodiscard]] const std::vector<Slot>& Slots() const { return slots_; }
  // Indices of Tensors(): by ComponentOrder(), then as the logbooks name them.
  [[nodiscard]] const std::vector<int>& Order() const { return order_; }
  // -1 when there is none.
  [[nodiscard]] int FindTensor(const std::string& key) const;

  // Null when there is no such reading at that step.
  [[nodiscard]] const StateView* FindState(std::string_view reading, std::int64_t step) const;
  // The first of that reading in the attempt, or null.
  [[nodiscard]] const StateView* FirstState(std::string_view reading) const;
  // Readings that describe the state at `step` in a run that went through it, the best first.
  [[nodiscard]] std::vector<const StateView*> StatesAt(std::int64_t step) const;
  [[nodiscard]] const std::vector<StateView>& States() const { return states_; }
  [[nodiscard]] TensorReading Read(const StateView& state, int tensor) const;
  // From the first of `states` that holds it.
  [[nodiscard]] TensorReading ReadFirst(const std::vector<const StateView*>& states,
                                        int tensor) const;

  [[nodiscard]] const std::map<BatchKey, BatchView>& Batches() const { return batches_; }
  [[nodiscard]] const ByStep<StepRecord>& Steps() const { return steps_; }
  [[nodiscard]] const ByStep<EvalRecord>& Evals() const { return evals_; }
  [[nodiscard]] const ByStep<EpochRecord>& Epochs() const { return epochs_; }
  [[nodiscard]] const std::set<std::int64_t>& SavesBegun() const { return begun_; }
  [[nodiscard]] const std::set<std::int64_t>& SavesAcknowledged() const { return acknowledged_; }

  [[nodiscard]] const std::vector<std::pair<int, const RestoredRecord*>>& Restored() const {
    return restored_;
  }
  [[nodiscard]] bool IsReady() const { return ready_; }
  // Last step that any rank completed; -1: none.
  [[nodiscard]] std::int64_t LastStep() const;
  // Of the `end` records: the step, where all ranks wrote one and agree.
  [[nodiscard]] std::optional<std::int64_t> EndStep() const;

 private:
  void Merge(const Logbook& book);
  int AddTensor(const TensorRecord& record, int rank);
  int AddSlot(int tensor, const TensorRecord& record, int rank);
  StateView& AddState(const StateRecord& record, int rank, const std::vector<int>& slot_of_number);
  void SortTensors();

  int world_;
  std::vector<TensorIdentity> tensors_;
  std::vector<Slot> slots_;
  std::vector<int> order_;
  std::unordered_map<std::string, int> tensor_of_key_;
  std::vector<StateView> states_;
  std::map<std::pair<std::string, std::int64_t>, std::size_t, std::less<>> state_index_;
  std::map<BatchKey, BatchView> batches_;
  ByStep<StepRecord> steps_;
  ByStep<EvalRecord> evals_;
  ByStep<EpochRecord> epochs_;
  std::set<std::int64_t> begun_;
  std::set<std::int64_t> acknowledged_;
  std::vector<std::pair<int, const RestoredRecord*>> restored_;
  std::vector<std::pair<int, std::int64_t>> ends_;
  bool ready_ = false;
};

// Position of a component ("optimizer.moments", or the first part of a scalar's name) in causal
// order: what the first forward needs comes before what later steps need.
int ComponentOrder(std::string_view component);

// "optimizer" of "optimizer.step"; the name itself when it has no dot.
std::string ComponentOfScalar(std::string_view name);

bool IsRandomState(std::string_view component);

// A digest for people: mixed with dtype and shape, 16 hexadecimal digits.
std::string ShowDigest(const DigestSum& sum, const TensorRecord& record);

// "[0:8, 0:64]"
std::string ShowSlice(const Slice& slice);

}  // namespace reprise

#endif  // REPRISE_HARNESS_JUDGE_RUN_VIEW_H_
