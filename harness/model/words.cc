// Text forms of the enumerations of this room, each in one table.

#include <array>
#include <charconv>
#include <utility>

#include "harness/model/layout.h"
#include "harness/model/operation.h"
#include "harness/model/outcome.h"

namespace reprise {
namespace {

template <typename E, std::size_t N>
using Words = std::array<std::pair<E, std::string_view>, N>;

template <typename E, std::size_t N>
std::string_view TextOf(const Words<E, N>& words, E value) {
  return words[static_cast<std::size_t>(value)].second;
}

template <typename E, std::size_t N>
std::optional<E> ValueOf(const Words<E, N>& words, std::string_view text) {
  for (const auto& [value, word] : words) {
    if (word == text) {
      return value;
    }
  }
  return std::nullopt;
}

// Each table is in the order of its enumeration (words_test.cc).
constexpr Words<OperationKind, 14> kOperationKinds = {{
    {OperationKind::kOpen, "open"},
    {OperationKind::kWrite, "write"},
    {OperationKind::kTruncate, "truncate"},
    {OperationKind::kAllocate, "allocate"},
    {OperationKind::kSync, "sync"},
    {OperationKind::kSyncRange, "sync-range"},
    {OperationKind::kRename, "rename"},
    {OperationKind::kLink, "link"},
    {OperationKind::kSymlink, "symlink"},
    {OperationKind::kUnlink, "unlink"},
    {OperationKind::kMakeFolder, "mkdir"},
    {OperationKind::kRemoveFolder, "rmdir"},
    {OperationKind::kAttributes, "attributes"},
    {OperationKind::kMapShared, "map-shared"},
}};

constexpr Words<RegionKind, 6> kRegionKinds = {{
    {RegionKind::kHeader, "header"},
    {RegionKind::kIndex, "index"},
    {RegionKind::kTensorData, "tensor"},
    {RegionKind::kTrainingState, "state"},
    {RegionKind::kCommitMark, "commit"},
    {RegionKind::kPointer, "pointer"},
}};

constexpr Words<Verdict, 17> kVerdicts = {{
    {Verdict::kExact, "exact"},
    {Verdict::kExactFallback, "exact-fallback"},
    {Verdict::kRefused, "refused"},
    {Verdict::kWithinNoise, "within-noise"},
    {Verdict::kLostProgress, "lost-progress"},
    {Verdict::kRefusedWrongly, "refused-wrongly"},
    {Verdict::kSilentRestart, "silent-restart"},
    {Verdict::kCheckpointLost, "checkpoint-lost"},
    {Verdict::kDiverged, "diverged"},
    {Verdict::kShort, "short"},
    {Verdict::kOverrun, "overrun"},
    {Verdict::kCrashed, "crashed"},
    {Verdict::kHung, "hung"},
    {Verdict::kNotExercised, "not-exercised"},
    {Verdict::kCannotJudge, "cannot-judge"},
    {Verdict::kUnsupported, "unsupported"},
    {Verdict::kHarnessError, "harness-error"},
}};

constexpr Words<Layer, 7> kLayers = {{{Layer::kD0, "D0"},
                                      {Layer::kD1, "D1"},
                                      {Layer::kD2, "D2"},
                                      {Layer::kD3, "D3"},
                                      {Layer::kD4, "D4"},
                                      {Layer::kD5, "D5"},
                                      {Layer::kD6, "D6"}}};

}  // namespace

std::string_view ToText(OperationKind kind) { return TextOf(kOperationKinds, kind); }
std::optional<OperationKind> ParseOperationKind(std::string_view text) {
  return ValueOf(kOperationKinds, text);
}

std::string_view ToText(RegionKind kind) { return TextOf(kRegionKinds, kind); }
std::optional<RegionKind> ParseRegionKind(std::string_view text) {
  return ValueOf(kRegionKinds, text);
}

std::string_view ToText(Verdict verdict) { return TextOf(kVerdicts, verdict); }
std::optional<Verdict> ParseVerdict(std::string_view text) { return ValueOf(kVerdicts, text); }

bool IsFinding(Verdict verdict) {
  return verdict >= Verdict::kLostProgress && verdict <= Verdict::kHung;
}

bool ProvedNothing(Verdict verdict) {
  return verdict >= Verdict::kNotExercised && verdict <= Verdict::kUnsupported;
}

const std::vector<Verdict>& AllVerdicts() {
  static const std::vector<Verdict> all = [] {
    std::vector<Verdict> verdicts;
    for (const auto& [verdict, word] : kVerdicts) {
      verdicts.push_back(verdict);
    }
    return verdicts;
  }();
  return all;
}

std::string_view ToText(Layer layer) { return TextOf(kLayers, layer); }
std::optional<Layer> ParseLayer(std::string_view text) { return ValueOf(kLayers, text); }

std::string OperationAddress::ToText() const {
  return std::to_string(rank) + "/" + std::to_string(save) + "/" + std::to_string(n);
}

Result<OperationAddress> OperationAddress::Parse(std::string_view text) {
  std::array<int, 3> parts = {};
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto [stop, error] = std::from_chars(at, end, parts[i]);
    const bool separated = i + 1 < parts.size() ? stop != end && *stop == '/' : stop == end;
    if (error != std::errc() || parts[i] < 0 || !separated) {
      return Fail(ErrorCode::kInvalidInput,
                  "expected an operation address rank/save/n, each counted from 0, found \"" +
                      std::string(text) + "\"");
    }
    at = stop + 1;
  }
  return OperationAddress{parts[0], parts[1], parts[2]};
}

}  // namespace reprise
