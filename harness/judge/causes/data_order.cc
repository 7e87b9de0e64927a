// The place inside the epoch is right and the order is that of another epoch.

#include <fmt/format.h>

#include "harness/judge/causes/id_stream.h"

namespace reprise {
namespace {

constexpr const char* kEpoch = "data.order: epoch of the sampler not restored";

std::optional<CauseFinding> Find(CauseContext& context) {
  const auto alignment = Align(context);
  if (!alignment) {
    return std::nullopt;
  }
  const auto own = alignment->EpochStart(alignment->expected);
  if (!own || alignment->Has(alignment->expected)) {
    return std::nullopt;
  }
  for (const std::size_t other : alignment->epoch_starts) {
    // At the start of an epoch this cannot be told from a position that was lost: `data.position`
    // speaks there.
    const std::size_t offset = alignment->expected - *own;
    if (other != *own && offset > 0 && alignment->Has(other + offset)) {
      return CauseFinding{
          kEpoch, fmt::format("the samples of step {} are those at the same place ({} samples into "
                              "the epoch) of another epoch, which begins at position {} of the "
                              "reference's order instead of {}",
                              alignment->first_step, offset, other, *own)};
    }
  }
  return std::nullopt;
}

}  // namespace

CauseRule DataOrderRule() { return {{kEpoch}, "D2", Find}; }

}  // namespace reprise
