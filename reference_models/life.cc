#include "reference_models/life.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>

namespace reprise::models {

namespace {

int ExitStatus(const Status& status) {
  if (status) return 0;
  const bool is_usage = status.error().code == ErrorCode::kUsage;
  if (is_usage && status.error().message.empty()) return 0;  // --help
  fmt::print(stderr, "transformer: {}\n", status.error().ToString());
  return is_usage ? 2 : 1;
}

}  // namespace

int Finish(const Status& status) {
  const int exit_status = ExitStatus(status);
  std::fflush(nullptr);
  std::_Exit(exit_status);
}

}  // namespace reprise::models
