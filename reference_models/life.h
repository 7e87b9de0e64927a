// The body of both programs: from the command line to an exit status.

#ifndef REPRISE_REFERENCE_MODELS_LIFE_H_
#define REPRISE_REFERENCE_MODELS_LIFE_H_

#include "harness/base/result.h"
#include "reference_models/options.h"
#include "reference_models/recipe.h"

namespace reprise::models {

// Prints the error of `status` on standard error. Returns the exit status: 0; 2 for a wrong command
// line; 1 for any other error.
int Finish(const Status& status);

}  // namespace reprise::models

#endif  // REPRISE_REFERENCE_MODELS_LIFE_H_
