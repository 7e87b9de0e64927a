// Look-ups in the reference's digests; see digest_index.h.

#include "harness/judge/digest_index.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdlib>
#include <tuple>

namespace reprise {
namespace {

// Subsets of slices are tried one by one, so only few slices are.
constexpr std::size_t kMaxMixedSlots = 6;

DigestSum Minus(const DigestSum& a, const DigestSum& b) { return {a.a - b.a, a.b - b.b}; }

// What changes in the sum when slot `i` of `now` is exchanged for that of `then`.
std::vector<DigestSum> Exchanges(const std::vector<int>& slots, const StateView& now,
                                 const StateView& then) {
  std::vector<DigestSum> changes;
  for (const int index : slots) {
    const auto slot = static_cast<std::size_t>(index);
    const bool is_read = slot < now.slots.size() && slot < then.slots.size() &&
                         now.slots[slot].rank >= 0 && then.slots[slot].rank >= 0;
    changes.push_back(is_read ? Minus(then.slots[slot].sum, now.slots[slot].sum) : DigestSum{});
  }
  return changes;
}

}  // namespace

void DigestIndex::Build() {
  built_ = true;
  for (const StateView& state : reference_.States()) {
    for (std::size_t i = 0; i < reference_.Tensors().size(); ++i) {
      const TensorReading reading = reference_.Read(state, static_cast<int>(i));
      if (reading.covered) {
        entries_.emplace(reading.sum, Entry{static_cast<int>(i), state.step});
      }
    }
  }
}

Origin DigestIndex::Find(int tensor, std::int64_t step, const DigestSum& sum) {
  if (sum == DigestSum{}) {
    return {
        OriginKind::kZero, step, {}, {}, {}};  // the digest is linear: only zeros add up to zero
  }
  if (!built_) {
    Build();
  }
  const TensorIdentity& wanted = reference_.Tensors()[static_cast<std::size_t>(tensor)];
  const Entry* best = nullptr;
  const auto rank_of = [&](const Entry& entry) {
    const std::int64_t distance = std::abs(entry.step - step);
    return std::tuple(entry.tensor != tensor, distance, entry.tensor);
  };
  const auto [begin, end] = entries_.equal_range(sum);
  for (auto at = begin; at != end; ++at) {
    const TensorIdentity& other = reference_.Tensors()[static_cast<std::size_t>(at->second.tensor)];
    if (other.record.dtype == wanted.record.dtype && other.element_count == wanted.element_count &&
        (best == nullptr || rank_of(at->second) < rank_of(*best))) {
      best = &at->second;
    }
  }
  if (best == nullptr) {
    return FindMixture(tensor, step, sum);
  }
  if (best->tensor == tensor) {
    return {OriginKind::kSameTensor, best->step, {}, {}, {}};
  }
  const TensorRecord& other = reference_.Tensors()[static_cast<std::size_t>(best->tensor)].record;
  return {OriginKind::kOtherTensor, best->step, other.Key(), other.component, {}};
}

Origin DigestIndex::FindMixture(int tensor, std::int64_t step, const DigestSum& sum) const {
  const TensorIdentity& identity = reference_.Tensors()[static_cast<std::size_t>(tensor)];
  const std::vector<const StateView*> now = reference_.StatesAt(step);
  if (now.empty() || identity.slots.size() < 2 || identity.slots.size() > kMaxMixedSlots) {
    return {};
  }
  const DigestSum change = Minus(sum, reference_.Read(*now.front(), tensor).sum);
  for (const StateView& then : reference_.States()) {
    if (then.step == step) {
      continue;
    }
    const std::vector<DigestSum> changes = Exchanges(identity.slots, *now.front(), then);
    for (unsigned mask = 1; mask + 1 < 1U << changes.size(); ++mask) {
      DigestSum total;
      std::vector<std::string> slices;
      for (std::size_t i = 0; i < changes.size(); ++i) {
        if ((mask >> i & 1U) != 0 && !(changes[i] == DigestSum{})) {
          total += changes[i];
          const Slot& slot = reference_.Slots()[static_cast<std::size_t>(identity.slots[i])];
          slices.push_back(fmt::format("rank {} {}", slot.rank, ShowSlice(slot.slice)));
        }
      }
      if (!slices.empty() && total == change) {
        return {OriginKind::kMixed, then.step, {}, {}, slices};
      }
    }
  }
  return {};
}

std::string Show(const Origin& origin) {
  switch (origin.kind) {
    case OriginKind::kUnknown:
      return {};
    case OriginKind::kZero:
      return "all zero";
    case OriginKind::kSameTensor:
      return fmt::format("equal to the reference at step {}", origin.step);
    case OriginKind::kOtherTensor:
      return fmt::format("equal to {} of the reference at step {}", origin.key, origin.step);
    case OriginKind::kMixed:
      return fmt::format("the slice of {} is that of step {}, the rest is right",
                         fmt::join(origin.slices, ", "), origin.step);
  }
  return {};
}

}  // namespace reprise
