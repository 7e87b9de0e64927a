// A folder that is renamed into the checkpoint folder from outside, told as operations.

#ifndef REPRISE_HARNESS_PROCESS_FOLDER_IMPORT_H_
#define REPRISE_HARNESS_PROCESS_FOLDER_IMPORT_H_

#include <string>
#include <vector>

#include "harness/model/operation.h"

namespace reprise {

// `rename` has just succeeded, and `real_path` is the folder's new place. All operations returned
// have the address and call of `rename`; at most 10,000 entries are told.
std::vector<Operation> ImportFolder(const Operation& rename, const std::string& real_path);

}  // namespace reprise

#endif  // REPRISE_HARNESS_PROCESS_FOLDER_IMPORT_H_
