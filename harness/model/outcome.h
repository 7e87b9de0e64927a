// What the judge says about a case.

#ifndef REPRISE_HARNESS_MODEL_OUTCOME_H_
#define REPRISE_HARNESS_MODEL_OUTCOME_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {

// Meaning of each: docs/user-guide.md, "Verdicts".
enum class Verdict {
  kExact,
  kExactFallback,
  kRefused,
  kWithinNoise,
  kLostProgress,
  kRefusedWrongly,
  kSilentRestart,
  kCheckpointLost,
  kDiverged,
  kShort,
  kOverrun,
  kCrashed,
  kHung,
  kNotExercised,
  kCannotJudge,
  kUnsupported,
  kHarnessError,
};

std::string_view ToText(Verdict verdict);  // "exact", "exact-fallback", …
std::optional<Verdict> ParseVerdict(std::string_view text);
bool IsFinding(Verdict verdict);      // something that a person must read
bool ProvedNothing(Verdict verdict);  // not-exercised, cannot-judge, unsupported
const std::vector<Verdict>& AllVerdicts();

// Layers of comparison in causal order (docs/user-guide.md, "Layers").
enum class Layer { kD0, kD1, kD2, kD3, kD4, kD5, kD6 };

std::string_view ToText(Layer layer);  // "D0" …
std::optional<Layer> ParseLayer(std::string_view text);

// The first difference from the reference. `step` is the number of completed optimizer steps at
// that point, `rank` is -1 where no single rank is meant.
struct Divergence {
  Layer layer = Layer::kD0;
  std::int64_t step = 0;
  int rank = -1;
  std::string name;  // tensor key, scalar, "sample ids", "exit status" …
  std::string expected;
  std::string actual;
  std::string detail;
};

struct Outcome {
  Verdict verdict = Verdict::kCannotJudge;
  std::string why;                  // one line for verdicts that are not "exact"
  std::int64_t restored_step = -1;  // -1: unknown
  std::int64_t expected_step = -1;
  std::int64_t lost_steps = 0;
  double recovery_s = 0;   // wall time from the start of the last restart to its `ready` record
  bool announced = false;  // of exact-fallback and refused: the target named what it did not use
  std::optional<Divergence> divergence;
  std::string cause;     // "component: what happened", or empty where no rule is certain
  std::string evidence;  // what the cause was derived from
  std::vector<std::string> consequences;
};

}  // namespace reprise

#endif  // REPRISE_HARNESS_MODEL_OUTCOME_H_
