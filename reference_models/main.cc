// The reference training: a small transformer whose restart is exact.

#include "probes/cpp/reprise_probe.h"
#include "reference_models/life.h"

namespace reprise::models {
namespace {

int Train(int argc, char** argv) {
  const auto options = ReadOptions(argc, argv, /*with_mutants=*/false);
  if (!options) return Finish(tl::make_unexpected(options.error()));
  return Finish(RunTraining(*options, CorrectRecipe()));
}

}  // namespace
}  // namespace reprise::models

int main(int argc, char** argv) {
  return reprise::probe::RunMain(argc, argv, reprise::models::Train, reprise::models::WarmUp);
}
