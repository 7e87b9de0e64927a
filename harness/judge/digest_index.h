// Where the bits of a wrong tensor come from: every digest of the reference by (step, key).
//
// Built on first use, since most cases have no wrong tensor. The reference view must outlive it.
// Not thread-safe.

#ifndef REPRISE_HARNESS_JUDGE_DIGEST_INDEX_H_
#define REPRISE_HARNESS_JUDGE_DIGEST_INDEX_H_

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "harness/judge/run_view.h"

namespace reprise {

enum class OriginKind {
  kUnknown,
  kZero,         // all elements are zero
  kSameTensor,   // the same tensor at another step
  kOtherTensor,  // another tensor, at `step`
  kMixed,        // `slices` are those of `step`, the rest is right
};

struct Origin {
  OriginKind kind = OriginKind::kUnknown;
  std::int64_t step = 0;
  std::string key;                  // of kOtherTensor
  std::string component;            // of kOtherTensor
  std::vector<std::string> slices;  // of kMixed: "rank 1 [8:16]"
};

class DigestIndex {
 public:
  explicit DigestIndex(const RunView& reference) : reference_(reference) {}

  // Origin of the bits `sum` in the place of tensor `tensor` (an index of the reference view) at
  // `step`. The nearest explanation wins: same tensor at the nearest step, another tensor at the
  // same step, another at another step, then a mixture of two steps.
  Origin Find(int tensor, std::int64_t step, const DigestSum& sum);

 private:
  struct Entry {
    int tensor;
    std::int64_t step;
  };
  struct Hash {
    std::size_t operator()(const DigestSum& sum) const {
      return static_cast<std::size_t>(sum.a ^ (sum.b * 0x9E3779B97F4A7C15ULL));
    }
  };

  void Build();
  [[nodiscard]] Origin FindMixture(int tensor, std::int64_t step, const DigestSum& sum) const;

  const RunView& reference_;
  bool built_ = false;
  std::unordered_multimap<DigestSum, Entry, Hash> entries_;
};

// "equal to the reference at step 40"; empty for kUnknown.
std::string Show(const Origin& origin);

}  // namespace reprise

#endif  // REPRISE_HARNESS_JUDGE_DIGEST_INDEX_H_
