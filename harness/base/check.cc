#include "harness/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace reprise {

void CheckFailed(const char* file, int line, const char* expression, const std::string& seen) {
  std::fprintf(stderr,
               "reprise: internal error at %s:%d: expected %s, seen: %s\n"
               "This is a bug in reprise; please report it with the run directory.\n",
               file, line, expression, seen.c_str());
  std::abort();
}

}  // namespace reprise
