// The table of all rules, from causes.inc.

#include "harness/judge/causes/cause_rule.h"

namespace reprise {

#define REPRISE_CAUSE_RULE(name) CauseRule name##Rule();
#include "harness/judge/causes/causes.inc"
#undef REPRISE_CAUSE_RULE

const std::vector<CauseRule>& AllCauseRules() {
  static const std::vector<CauseRule> rules = {
#define REPRISE_CAUSE_RULE(name) name##Rule(),
#include "harness/judge/causes/causes.inc"
#undef REPRISE_CAUSE_RULE
  };
  return rules;
}

}  // namespace reprise
