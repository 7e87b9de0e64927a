// A mutant: the reference training with exactly one component replaced by a faulty one.
//
// Negative scenarios and the self-test run them to show that a fault is found and named. The names
// are part of the harness's contract; the kinds of fault are distilled from public bug reports.

#ifndef REPRISE_REFERENCE_MODELS_MUTANTS_MUTANT_H_
#define REPRISE_REFERENCE_MODELS_MUTANTS_MUTANT_H_

#include <string>
#include <string_view>
#include <vector>

#include "reference_models/recipe.h"

namespace reprise::models {

struct MutantInfo {
  std::string name;  // "data-restart"
  std::string id;    // "M01"
  std::string help;  // the fault, one line
  void (*plant)(Recipe& recipe) = nullptr;
};

const std::vector<MutantInfo>& AllMutants();

// Null when there is none of that name.
const MutantInfo* FindMutant(std::string_view name);

}  // namespace reprise::models

#endif  // REPRISE_REFERENCE_MODELS_MUTANTS_MUTANT_H_
