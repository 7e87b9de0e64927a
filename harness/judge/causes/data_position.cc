// The loader went on at another place of the same order of samples.

#include <fmt/format.h>

#include <algorithm>

#include "harness/judge/causes/id_stream.h"

namespace reprise {
namespace {

constexpr const char* kRestart = "data.position: not restored (restart)";
constexpr const char* kEpochRestart = "data.position: not restored (restart of the epoch)";
constexpr const char* kReplay = "data.position: off by one (replay)";
constexpr const char* kSkip = "data.position: off by one (skip)";
constexpr const char* kTwice = "data.position: applied twice";
constexpr const char* kAhead = "data.position: ahead (items skipped)";
constexpr const char* kBehind = "data.position: behind (items repeated)";
constexpr const char* kEpochRepeated = "epoch: finished epoch repeated";

// The most special place first: a run without shuffling offers several.
std::optional<std::pair<const char*, std::size_t>> Classify(const Alignment& alignment) {
  const std::size_t expected = alignment.expected;
  const auto is_at = [&](std::optional<std::size_t> place) {
    return place && *place != expected && alignment.Has(*place);
  };
  const auto epoch = alignment.EpochStart(expected);
  if (epoch && *epoch == expected && expected > 0) {
    const auto previous = alignment.EpochStart(expected - 1);
    if (is_at(previous) && *previous > 0) {
      return std::pair(kEpochRepeated, *previous);
    }
  }
  if (is_at(0)) {
    return std::pair(kRestart, std::size_t{0});
  }
  if (is_at(alignment.StartOfStep(alignment.first_step - 1))) {
    return std::pair(kReplay, *alignment.StartOfStep(alignment.first_step - 1));
  }
  if (is_at(alignment.StartOfStep(alignment.first_step + 1))) {
    return std::pair(kSkip, *alignment.StartOfStep(alignment.first_step + 1));
  }
  if (is_at(epoch)) {
    return std::pair(kEpochRestart, *epoch);
  }
  if (is_at(2 * expected) || (epoch && is_at(2 * expected - *epoch))) {
    return std::pair(kTwice, is_at(2 * expected) ? 2 * expected : 2 * expected - *epoch);
  }
  return std::nullopt;
}

CauseFinding Say(const Alignment& alignment, const char* cause, std::size_t place, bool certain) {
  return {
      cause,
      fmt::format("the samples of step {} and on are those of position {} of the reference's "
                  "order, expected {} (shift {})",
                  alignment.first_step, place, alignment.expected,
                  static_cast<std::int64_t>(place) - static_cast<std::int64_t>(alignment.expected)),
      certain};
}

std::optional<CauseFinding> Find(CauseContext& context) {
  const auto alignment = Align(context);
  if (!alignment || alignment->matches.empty() || alignment->Has(alignment->expected)) {
    return std::nullopt;
  }
  if (const auto found = Classify(*alignment)) {
    return Say(*alignment, found->first, found->second, true);
  }
  // Any other shift: the nearest place, certain when it is the only one.
  const auto distance = [&](std::size_t place) {
    return place > alignment->expected ? place - alignment->expected : alignment->expected - place;
  };
  const std::size_t place =
      *std::min_element(alignment->matches.begin(), alignment->matches.end(),
                        [&](std::size_t a, std::size_t b) { return distance(a) < distance(b); });
  return Say(*alignment, place > alignment->expected ? kAhead : kBehind, place,
             alignment->matches.size() == 1);
}

}  // namespace

CauseRule DataPositionRule() {
  return {{kRestart, kEpochRestart, kReplay, kSkip, kTwice, kAhead, kBehind, kEpochRepeated},
          "D2, D4 (data scalars)",
          Find};
}

}  // namespace reprise
