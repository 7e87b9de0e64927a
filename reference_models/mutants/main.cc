// The reference training with one planted fault, chosen by --mutant.

#include <fmt/format.h>

#include "probes/cpp/reprise_probe.h"
#include "reference_models/life.h"
#include "reference_models/mutants/mutant.h"

namespace reprise::models {
namespace {

int ListMutants() {
  for (const MutantInfo& info : AllMutants()) {
    fmt::print("{:<20} {:<5} {}\n", info.name, info.id, info.help);
  }
  return 0;
}

int Train(int argc, char** argv) {
  const auto options = ReadOptions(argc, argv, /*with_mutants=*/true);
  if (!options) return Finish(tl::make_unexpected(options.error()));
  if (options->list_mutants) return ListMutants();
  Recipe recipe = CorrectRecipe();
  const MutantInfo* info = FindMutant(options->mutant);
  if (info == nullptr) {
    return Finish(Fail(
        ErrorCode::kUsage,
        fmt::format("--mutant \"{}\" is unknown; --list-mutants names them all", options->mutant)));
  }
  info->plant(recipe);
  return Finish(RunTraining(*options, recipe));
}

}  // namespace
}  // namespace reprise::models

int main(int argc, char** argv) {
  return reprise::probe::RunMain(argc, argv, reprise::models::Train, reprise::models::WarmUp);
}
