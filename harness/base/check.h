// REPRISE_CHECK: aborts on a bug of ours, also in release, saying what was expected and seen.

#ifndef REPRISE_HARNESS_BASE_CHECK_H_
#define REPRISE_HARNESS_BASE_CHECK_H_

#include <string>

namespace reprise {

[[noreturn]] void CheckFailed(const char* file, int line, const char* expression,
                              const std::string& seen);

}  // namespace reprise

// REPRISE_CHECK(rank < world, fmt::format("rank {} of {}", rank, world));
#define REPRISE_CHECK(expression, seen)                                \
  do {                                                                 \
    if (!(expression)) {                                               \
      ::reprise::CheckFailed(__FILE__, __LINE__, #expression, (seen)); \
    }                                                                  \
  } while (false)

#endif  // REPRISE_HARNESS_BASE_CHECK_H_
