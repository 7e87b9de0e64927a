// Files of accepted findings (docs/user-guide.md, "Accept a finding").

#ifndef REPRISE_HARNESS_CLI_ACCEPT_H_
#define REPRISE_HARNESS_CLI_ACCEPT_H_

#include <filesystem>
#include <vector>

#include "harness/base/result.h"
#include "harness/model/report.h"

namespace reprise {

// The entries of a file, in its order; none for an empty path. kUsage or kInvalidInput with file
// and field: not there, not JSON, a field missing or unknown, a fingerprint twice, a reason that
// says nothing, a date that is none.
Result<std::vector<Acceptance>> LoadAcceptances(const std::filesystem::path& path);

}  // namespace reprise

#endif  // REPRISE_HARNESS_CLI_ACCEPT_H_
