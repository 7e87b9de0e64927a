// Finds the shift between two sequences of sample ids; see id_stream.h.

#include "harness/judge/causes/id_stream.h"

#include <algorithm>

namespace reprise {
namespace {

// So many steps of the restart are looked for: one step alone may occur twice by chance.
constexpr std::int64_t kSoughtSteps = 3;

bool IsAboutData(const CauseContext& context) {
  const Difference* first = context.First();
  if (first == nullptr || context.verdict != Verdict::kDiverged) {
    return false;
  }
  const std::int64_t r = context.compare.first_step;
  const bool is_scalar =
      first->subject == Subject::kScalar && first->where.step == r &&
      (StartsWith(first->component, "data") || StartsWith(first->component, "epoch"));
  const bool is_batch = (first->subject == Subject::kIds || first->subject == Subject::kBatch) &&
                        first->where.step == r + 1;
  return is_scalar || is_batch;
}

// All places where `sought` lies in `ids`.
std::vector<std::size_t> FindAll(const std::vector<std::int64_t>& ids,
                                 const std::vector<std::int64_t>& sought) {
  std::vector<std::size_t> places;
  for (auto at = ids.begin();; ++at) {
    at = std::search(at, ids.end(), sought.begin(), sought.end());
    if (at == ids.end()) {
      return places;
    }
    places.push_back(static_cast<std::size_t>(at - ids.begin()));
  }
}

}  // namespace

IdStream StreamOf(const RunView& view) {
  IdStream stream;
  for (const auto& [key, batch] : view.Batches()) {
    stream.start_of_step.try_emplace(std::get<0>(key), stream.ids.size());
    stream.ids.insert(stream.ids.end(), batch.record->ids.begin(), batch.record->ids.end());
  }
  return stream;
}

bool Alignment::Has(std::size_t position) const {
  return std::binary_search(matches.begin(), matches.end(), position);
}

std::optional<std::size_t> Alignment::StartOfStep(std::int64_t step) const {
  const auto at = start_of_step.find(step);
  return at == start_of_step.end() ? std::nullopt : std::optional(at->second);
}

std::optional<std::size_t> Alignment::EpochStart(std::size_t position) const {
  const auto after = std::upper_bound(epoch_starts.begin(), epoch_starts.end(), position);
  return after == epoch_starts.begin() ? std::nullopt : std::optional(*(after - 1));
}

std::optional<Alignment> Align(const CauseContext& context) {
  if (!IsAboutData(context)) {
    return std::nullopt;
  }
  const IdStream reference = StreamOf(*context.compare.reference);
  const IdStream run = StreamOf(*context.compare.run);
  Alignment alignment;
  alignment.first_step = context.compare.first_step + 1;
  alignment.start_of_step = reference.start_of_step;
  const auto expected = reference.start_of_step.find(alignment.first_step);
  const auto begin = run.start_of_step.find(alignment.first_step);
  if (expected == reference.start_of_step.end() || begin == run.start_of_step.end()) {
    return std::nullopt;
  }
  alignment.expected = expected->second;
  for (const auto& [step, records] : context.compare.reference->Epochs()) {
    if (const auto start = alignment.StartOfStep(step + 1)) {
      alignment.epoch_starts.push_back(*start);
    }
  }
  const auto position_of = [&](std::int64_t step) {
    const auto at = run.start_of_step.lower_bound(step);
    return at == run.start_of_step.end() ? run.ids.size() : at->second;
  };
  const auto slice = [&](std::size_t end) {
    return std::vector<std::int64_t>(run.ids.begin() + static_cast<std::ptrdiff_t>(begin->second),
                                     run.ids.begin() + static_cast<std::ptrdiff_t>(end));
  };
  if (position_of(alignment.first_step + 1) == begin->second) {
    return std::nullopt;
  }
  // Fewer steps where the restart crosses into another epoch, or one of the runs ends.
  for (std::int64_t count = kSoughtSteps; count > 0 && alignment.matches.empty(); --count) {
    alignment.matches = FindAll(reference.ids, slice(position_of(alignment.first_step + count)));
  }
  return alignment;
}

}  // namespace reprise
