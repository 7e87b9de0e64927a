// The state of random-number generators before the first forward.

#include <fmt/format.h>

#include <array>
#include <set>

#include "harness/judge/causes/cause_rule.h"

namespace reprise {
namespace {

constexpr const char* kRankLocal = "rng: rank-local stream replaced by rank 0's";
constexpr const char* kAdvanced = "rng: changed between load and first forward";
constexpr const char* kOther = "rng: not restored";
constexpr std::array<const char*, 4> kNotRestored = {
    "rng.torch: not restored", "rng.python: not restored", "rng.numpy: not restored",
    "rng.cuda: not restored"};

// "rng.torch: not restored" for component "rng.torch"; the general name for one that has none.
std::string NotRestored(const std::string& component) {
  for (const char* name : kNotRestored) {
    if (component + ": not restored" == name) {
      return name;
    }
  }
  return kOther;
}

// All wrong generators hold the state that one other generator should have.
std::optional<CauseFinding> FindRankLocal(CauseContext& context, const Difference& first) {
  std::set<std::string> sources;
  int count = 0;
  for (const Difference& difference : context.differences) {
    if (difference.component != first.component || difference.subject != Subject::kTensor ||
        difference.where.step != first.where.step || difference.where.layer != Layer::kD3) {
      continue;
    }
    const Origin origin =
        context.index->Find(difference.reference_tensor, first.where.step, difference.actual);
    if (origin.kind != OriginKind::kOtherTensor || origin.step != first.where.step ||
        !IsRandomState(origin.component)) {
      return std::nullopt;
    }
    sources.insert(origin.key);
    ++count;
  }
  if (sources.size() != 1) {
    return std::nullopt;
  }
  return CauseFinding{kRankLocal, fmt::format("{} generators ({} first) hold the state of {}",
                                              count, first.where.name, *sources.begin())};
}

std::optional<CauseFinding> FindScalar(const Difference& first) {
  return CauseFinding{NotRestored(first.component.substr(0, first.component.rfind('.'))),
                      fmt::format("{} is {} before the first forward, expected {}",
                                  first.where.name, first.where.actual, first.where.expected)};
}

std::optional<CauseFinding> Find(CauseContext& context) {
  const Difference* first = context.First();
  if (first == nullptr || first->where.layer != Layer::kD3 || !IsRandomState(first->component)) {
    return std::nullopt;
  }
  if (first->subject == Subject::kScalar) {
    return FindScalar(*first);
  }
  if (auto found = FindRankLocal(context, *first)) {
    return found;
  }
  const GroupEvidence group = Examine(
      context, [&](const TensorRecord& record) { return record.component == first->component; });
  if (group.differing == 0) {
    return std::nullopt;
  }
  const bool was_right = group.restored_equal == group.differing;
  return CauseFinding{
      was_right ? kAdvanced : NotRestored(first->component),
      fmt::format("{} of {} generators differ before the first forward, data and weights are "
                  "equal; for example {}",
                  group.differing, group.tensor_count, group.example)};
}

}  // namespace

CauseRule RngRule() {
  CauseRule rule{{kRankLocal, kAdvanced, kOther}, "D3", Find};
  rule.causes.insert(rule.causes.end(), kNotRestored.begin(), kNotRestored.end());
  return rule;
}

}  // namespace reprise
