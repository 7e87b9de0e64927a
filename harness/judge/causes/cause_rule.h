// The interface of a rule that names causes, and the list of all of them.
//
// A rule derives its cause from evidence alone: logbooks, files, operations, digests. It never
// knows which target runs. One rule is one file and one line in causes.inc; each cause that it can
// print has a section in docs/causes.md (causes_test.cc compares the two).

#ifndef REPRISE_HARNESS_JUDGE_CAUSES_CAUSE_RULE_H_
#define REPRISE_HARNESS_JUDGE_CAUSES_CAUSE_RULE_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/judge/contract.h"
#include "harness/judge/digest_index.h"
#include "harness/judge/layers.h"

namespace reprise {

// All that is known about one restart that went wrong.
struct CauseContext {
  const JudgeInput* input = nullptr;
  Verdict verdict = Verdict::kDiverged;
  CompareSpec compare;  // what was compared with what
  const Contract* contract = nullptr;
  std::vector<Difference> differences;      // of the layers D1 to D6, in causal order; may be empty
  const AttemptEvidence* before = nullptr;  // the attempt before the restart, or null
  DigestIndex* index = nullptr;

  // The first difference, or null.
  [[nodiscard]] const Difference* First() const {
    return differences.empty() ? nullptr : &differences.front();
  }
};

struct CauseFinding {
  std::string cause;     // one of the rule's causes
  std::string evidence;  // one or two sentences, with names and numbers
  bool certain = true;   // false: a candidate, shown as such
};

struct CauseRule {
  std::vector<std::string> causes;  // that it can print
  std::string layers;               // that it speaks about, in words
  std::optional<CauseFinding> (*find)(CauseContext& context) = nullptr;
};

// In the order in which they are asked: the first certain finding is the cause.
const std::vector<CauseRule>& AllCauseRules();

// What the differing tensors of one component have in common at the restart.
struct GroupEvidence {
  int tensor_count = 0;  // of the component in the reference's state
  int differing = 0;     // before the first forward
  int absent = 0;        // of `differing`, as all counts below
  int zero = 0;
  int at_initial_step = 0;  // equal to the reference at the first step that it recorded
  int at_other_step = 0;    // equal to the reference at `other_step`, not the initial one
  std::int64_t other_step = -1;
  int as_other_tensor = 0;
  int mixed = 0;
  int file_absent = 0;
  int file_equal = 0;
  int restored_equal = 0;  // right after the load, wrong before the first forward
  bool file_known = false;
  std::string example;  // the first differing tensor, with its readings and origin

  [[nodiscard]] bool AllDiffer() const { return differing > 0 && differing == tensor_count; }
  // As fresh as a process that loaded nothing.
  [[nodiscard]] bool AllFresh() const {
    return differing > 0 && absent + zero + at_initial_step == differing;
  }
};

// `selects` picks components.
GroupEvidence Examine(CauseContext& context,
                      const std::function<bool(const TensorRecord&)>& selects);

// The common pattern of a lost group: missing in the file, in the file and never applied,
// overwritten after the load, or as fresh as at the start. `names` in this order; an empty name is
// not printed.
struct LostGroupNames {
  std::string missing;
  std::string never_applied;
  std::string overwritten;
  std::string not_restored;
};
std::optional<CauseFinding> ExplainLostGroup(const GroupEvidence& group,
                                             const LostGroupNames& names);

// The value of a scalar at a step of the reference, or nothing.
std::optional<std::string> ScalarAt(const RunView& view, std::int64_t step,
                                    const std::string& name);
// The first step at which the reference's state was read.
std::int64_t InitialStep(const RunView& reference);

bool StartsWith(std::string_view text, std::string_view prefix);

}  // namespace reprise

#endif  // REPRISE_HARNESS_JUDGE_CAUSES_CAUSE_RULE_H_
