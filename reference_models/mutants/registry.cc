#include <algorithm>

#include "reference_models/mutants/mutant.h"

namespace reprise::models {

#define REPRISE_MUTANT(Name) MutantInfo Name##Mutant();
#include "reference_models/mutants/mutants.inc"
#undef REPRISE_MUTANT

const std::vector<MutantInfo>& AllMutants() {
  static const std::vector<MutantInfo> kMutants = {
#define REPRISE_MUTANT(Name) Name##Mutant(),
#include "reference_models/mutants/mutants.inc"
#undef REPRISE_MUTANT
  };
  return kMutants;
}

const MutantInfo* FindMutant(std::string_view name) {
  const auto& all = AllMutants();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [name](const MutantInfo& info) { return info.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace reprise::models
