// Merges logbooks; see run_view.h.

#include "harness/judge/run_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/base/content_id.h"

namespace reprise {
namespace {

// The first prefix that fits decides.
constexpr std::array<std::string_view, 16> kComponents = {"weights",
                                                          "adapter",
                                                          "buffers",
                                                          "fp8",
                                                          "quant",
                                                          "master_weights",
                                                          "optimizer.moments",
                                                          "optimizer.step",
                                                          "optimizer",
                                                          "amp",
                                                          "grad_accum",
                                                          "scheduler",
                                                          "ema",
                                                          "counters",
                                                          "step",
                                                          "data"};

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

bool HasPrefix(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

std::string Describe(const TensorRecord& record) {
  return fmt::format("{} {}", ToText(record.dtype), fmt::join(record.global_shape, "x"));
}

}  // namespace

int ComponentOrder(std::string_view component) {
  for (std::size_t i = 0; i < kComponents.size(); ++i) {
    if (HasPrefix(component, kComponents[i])) {
      return static_cast<int>(i);
    }
  }
  return static_cast<int>(kComponents.size()) + (IsRandomState(component) ? 1 : 0);
}

std::string ComponentOfScalar(std::string_view name) {
  return std::string(name.substr(0, name.rfind('.')));
}

bool IsRandomState(std::string_view component) { return HasPrefix(component, "rng"); }

std::string ShowDigest(const DigestSum& sum, const TensorRecord& record) {
  return ContentId(fmt::format("{:x}/{:x}/{}", sum.a, sum.b, Describe(record))).substr(0, 16);
}

std::string ShowSlice(const Slice& slice) {
  std::string text = "[";
  for (std::size_t d = 0; d < slice.offsets.size() && d < slice.extents.size(); ++d) {
    text += fmt::format("{}{}:{}", d == 0 ? "" : ", ", slice.offsets[d],
                        slice.offsets[d] + slice.extents[d]);
  }
  return text + "]";
}

RunView::RunView(const AttemptEvidence& evidence) : world_(evidence.world) {
  for (const Logbook& book : evidence.logbooks) {
    Merge(book);
  }
  SortTensors();
}

void RunView::Merge(const Logbook& book) {
  const int rank = book.rank;
  std::vector<int> slot_of_number;
  const auto merge = Overloaded{
      [](const StartRecord&) {},
      [](const OptimizerRecord&) {},
      [&](const NamesRecord& names) {
        for (const TensorRecord& tensor : names.tensors) {
          slot_of_number.push_back(AddTensor(tensor, rank));
        }
      },
      [&](const RestoredRecord& record) { restored_.emplace_back(rank, &record); },
      [&](const ReadyRecord&) { ready_ = true; },
      [&](const MicroBatchRecord& record) {
        const auto [at, is_new] = batches_.try_emplace(
            BatchKey(record.step, record.micro, record.worker), BatchView{rank, &record});
        at->second.times += is_new ? 0 : 1;
      },
      [&](const StepRecord& record) { steps_[record.step].emplace_back(rank, &record); },
      [&](const StateRecord& record) {
        StateView& state = AddState(record, rank, slot_of_number);
        state.ends_logbook |= &record == std::get_if<StateRecord>(&book.records.back());
      },
      [&](const SaveBeginRecord& record) { begun_.insert(record.step); },
      [&](const SaveAckRecord& record) { acknowledged_.insert(record.step); },
      [&](const EvalRecord& record) { evals_[record.step].emplace_back(rank, &record); },
      [&](const EpochRecord& record) { epochs_[record.step].emplace_back(rank, &record); },
      [&](const EndRecord& record) { ends_.emplace_back(rank, record.step); }};
  for (const LogRecord& record : book.records) {
    std::visit(merge, record);
  }
}

int RunView::AddTensor(const TensorRecord& record, int rank) {
  const auto [at, is_new] =
      tensor_of_key_.try_emplace(record.Key(), static_cast<int>(tensors_.size()));
  if (is_new) {
    tensors_.push_back({record, ElementCount(record.global_shape).value_or(0), {}, {}});
  }
  TensorIdentity& tensor = tensors_[static_cast<std::size_t>(at->second)];
  if (tensor.conflict.empty() &&
      (tensor.record.dtype != record.dtype || tensor.record.global_shape != record.global_shape)) {
    tensor.conflict =
        fmt::format("rank {} has {}, another {}", rank, Describe(record), Describe(tensor.record));
  }
  if (tensor.record.alias_of.empty()) {
    tensor.record.alias_of = record.alias_of;
  }
  return AddSlot(at->second, record, rank);
}

int RunView::AddSlot(int tensor, const TensorRecord& record, int rank) {
  TensorIdentity& identity = tensors_[static_cast<std::size_t>(tensor)];
  identity.record.replica_count = std::max(identity.record.replica_count, record.replica_count);
  for (const int slot : identity.slots) {
    if (slots_[static_cast<std::size_t>(slot)].slice == record.slice) {
      return slot;
    }
  }
  const int slot = static_cast<int>(slots_.size());
  slots_.push_back({tensor, record.slice, ElementCount(record.slice.extents).value_or(0), rank});
  identity.slots.push_back(slot);
  return slot;
}

StateView& RunView::AddState(const StateRecord& record, int rank,
                             const std::vector<int>& slot_of_number) {
  const auto [at, is_new] = state_index_.try_emplace({record.reading, record.step}, states_.size());
  if (is_new) {
    states_.push_back({record.reading, record.step, 0, -1, false, {}, {}});
  }
  StateView& state = states_[at->second];
  state.rank_count += state.last_rank != rank ? 1 : 0;
  state.last_rank = rank;
  state.slots.resize(slots_.size());
  for (const auto& [number, sum] : record.tensors) {
    if (number < 0 || static_cast<std::size_t>(number) >= slot_of_number.size()) {
      continue;  // a number without a name identifies nothing
    }
    const auto slot = static_cast<std::size_t>(slot_of_number[static_cast<std::size_t>(number)]);
    SlotReading& reading = state.slots[slot];
    if (reading.rank < 0 || reading.rank == rank) {
      reading.sum = sum;
      reading.rank = rank;
      continue;
    }
    if (!(reading.sum == sum) && reading.disagreeing_rank < 0) {
      reading.disagreeing_rank = rank;
    }
    const TensorIdentity& tensor = tensors_[static_cast<std::size_t>(slots_[slot].tensor)];
    reading.overlaps |= tensor.record.replica_count < 2 && slots_[slot].element_count > 0;
  }
  for (const auto& [name, value] : record.scalars) {
    state.scalars[name].emplace_back(rank, value);
  }
  return state;
}

void RunView::SortTensors() {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    order_.push_back(static_cast<int>(i));
  }
  const auto place = [this](int tensor) {
    return ComponentOrder(tensors_[static_cast<std::size_t>(tensor)].record.component);
  };
  std::stable_sort(order_.begin(), order_.end(), [&](int a, int b) { return place(a) < place(b); });
}

int RunView::FindTensor(const std::string& key) const {
  const auto at = tensor_of_key_.find(key);
  return at == tensor_of_key_.end() ? -1 : at->second;
}

const StateView* RunView::FindState(std::string_view reading, std::int64_t step) const {
  const auto at = state_index_.find(std::pair(std::string(reading), step));
  return at == state_index_.end() ? nullptr : &states_[at->second];
}

const StateView* RunView::FirstState(std::string_view reading) const {
  const auto at = std::find_if(states_.begin(), states_.end(),
                               [&](const StateView& state) { return state.reading == reading; });
  return at == states_.end() ? nullptr : &*at;
}

std::vector<const StateView*> RunView::StatesAt(std::int64_t step) const {
  std::vector<const StateView*> states;
  for (const std::string_view reading : {"step", "request", "ready"}) {
    if (const StateView* state = FindState(reading, step)) {
      states.push_back(state);
    }
  }
  return states;
}

TensorReading RunView::Read(const StateView& state, int tensor) const {
  TensorReading result;
  const TensorIdentity& identity = tensors_[static_cast<std::size_t>(tensor)];
  std::int64_t element_count = 0;
  bool overlaps = false;
  for (const int index : identity.slots) {
    const auto slot = static_cast<std::size_t>(index);
    if (slot >= state.slots.size() || state.slots[slot].rank < 0) {
      continue;
    }
    const SlotReading& reading = state.slots[slot];
    result.present = true;
    result.sum += reading.sum;
    result.disagreeing_rank = std::max(result.disagreeing_rank, reading.disagreeing_rank);
    element_count += slots_[slot].element_count;
    overlaps |= reading.overlaps;
  }
  result.covered = result.present && !overlaps && element_count == identity.element_count;
  return result;
}

TensorReading RunView::ReadFirst(const std::vector<const StateView*>& states, int tensor) const {
  for (const StateView* state : states) {
    if (const TensorReading reading = Read(*state, tensor); reading.present) {
      return reading;
    }
  }
  return {};
}

std::int64_t RunView::LastStep() const { return steps_.empty() ? -1 : steps_.rbegin()->first; }

std::optional<std::int64_t> RunView::EndStep() const {
  if (ends_.empty() || static_cast<int>(ends_.size()) < world_) {
    return std::nullopt;
  }
  for (const auto& [rank, step] : ends_) {
    if (step != ends_.front().second) {
      return std::nullopt;
    }
  }
  return ends_.front().second;
}

}  // namespace reprise
