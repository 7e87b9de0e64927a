// What a rename or link brings into the checkpoint folder from outside, told as operations whose
// effect can be predicted without a look at what lies outside.

#ifndef REPRISE_HARNESS_PROCESS_ARRIVAL_H_
#define REPRISE_HARNESS_PROCESS_ARRIVAL_H_

#include <string>
#include <vector>

#include "harness/model/operation.h"

namespace reprise {

struct Arrival {
  std::vector<Operation> operations;
  std::vector<std::string> left_out;  // in words: entries whose content is not in the operations
};

// Is it a rename or link from outside, or of a file without a name, to a name below the folder?
bool BringsIn(const Operation& operation);

// `operation` has just succeeded, and `real_path` is the new place. All operations returned have
// its address and call. A file: the operation itself, with the content. A symbolic link: kSymlink.
// A folder: kMakeFolder and then all that is in it, at most 10,000 entries. Before them comes what
// the arrival replaced or, with RENAME_EXCHANGE, pushed out. Data is read only if `with_data`.
// REQUIRES: BringsIn(operation).
Arrival TellArrival(const Operation& operation, const std::string& real_path, bool with_data);

}  // namespace reprise

#endif  // REPRISE_HARNESS_PROCESS_ARRIVAL_H_
