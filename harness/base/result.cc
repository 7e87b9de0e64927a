#include "harness/base/result.h"

#include <system_error>

namespace reprise {

tl::unexpected<Error> FailErrno(int error_number, const std::string& what, std::string where) {
  return Fail(ErrorCode::kSystem, what + ": " + std::generic_category().message(error_number),
              std::move(where));
}

}  // namespace reprise
