// Compares one attempt with the reference, layer by layer, in causal order.

#ifndef REPRISE_HARNESS_JUDGE_LAYERS_H_
#define REPRISE_HARNESS_JUDGE_LAYERS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "harness/judge/run_view.h"
#include "harness/model/outcome.h"

namespace reprise {

enum class Subject {
  kProcess,
  kTensor,         // other bits
  kMissingTensor,  // live in the reference, not here
  kExtraTensor,    // live here, not in the reference
  kDescription,    // dtype or shape
  kAlias,
  kCoverage,  // the ranks' slices leave holes or overlap
  kReplicas,  // ranks hold different bits of what must be equal
  kScalar,
  kIds,
  kContent,
  kBatch,  // a micro-batch more or less
  kLoss,
  kLearningRate,
  kWeightDecay,
  kEpoch,
  kEval,
};

struct Difference {
  Subject subject = Subject::kTensor;
  Divergence where;
  std::string component;      // of the tensor, or the name of the scalar up to its last dot
  int reference_tensor = -1;  // index in the view, where one is meant
  int run_tensor = -1;
  DigestSum actual;  // of kTensor
};

struct LayerComparison {
  std::vector<Difference> differences;  // causal order; at most kMaxDifferences
  std::int64_t compared_count = 0;      // values that were laid side by side
  std::string uncompared;  // the first tensor that not all ranks read, unless a kill excuses it
};

inline constexpr std::size_t kMaxDifferences = 5000;

struct CompareSpec {
  const RunView* reference = nullptr;
  const RunView* run = nullptr;
  const StoredCheckpoint* loaded = nullptr;  // what the attempt restored, or null
  std::int64_t first_step = 0;               // completed steps when the attempt began
  bool trajectory = true;                    // false: only the state at `first_step`
  bool is_cut = false;  // not ended by itself with exit status 0: its last records may lack parts
};

// An attempt that was cut short is compared up to its last records: a reading that not all ranks
// could write is compared as far as it covers whole tensors.
LayerComparison Compare(const CompareSpec& spec);

// How the readings of one tensor at the restart compare with the reference.
enum class ReadingState { kUnknown, kAbsent, kEqual, kDifferent };
struct TensorReadings {
  ReadingState file = ReadingState::kUnknown;
  ReadingState restored = ReadingState::kUnknown;
  ReadingState ready = ReadingState::kUnknown;
};
TensorReadings ReadingsOf(const CompareSpec& spec, int reference_tensor);

// "in the file: equal, after the load: equal, before the first forward: different"; unknown ones
// are left out.
std::string Show(const TensorReadings& readings);

}  // namespace reprise

#endif  // REPRISE_HARNESS_JUDGE_LAYERS_H_
