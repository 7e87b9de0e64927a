// The body of both programs: from the command line to an exit status.

#ifndef REPRISE_REFERENCE_MODELS_LIFE_H_
#define REPRISE_REFERENCE_MODELS_LIFE_H_

#include "harness/base/result.h"
#include "reference_models/options.h"
#include "reference_models/recipe.h"

namespace reprise::models {

// Prints the error of `status` on standard error and ends the process, with flushed streams: status
// 0; 2 for a wrong command line; 1 for any other error. Static destructors are not run, since
// libtorch's take longer (0.15 s a life) than many a short training. The type is that of what
// RunMain() calls.
[[noreturn]] int Finish(const Status& status);

}  // namespace reprise::models

#endif  // REPRISE_REFERENCE_MODELS_LIFE_H_
