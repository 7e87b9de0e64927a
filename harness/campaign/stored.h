// What the checkpoints in a folder hold, read with the target's format and digested.

#ifndef REPRISE_HARNESS_CAMPAIGN_STORED_H_
#define REPRISE_HARNESS_CAMPAIGN_STORED_H_

#include <filesystem>
#include <vector>

#include "formats/checkpoint_format.h"
#include "harness/judge/judge.h"

namespace reprise {

// Every candidate of the folder, in the loader's order. What cannot be read is told in
// StoredCheckpoint::error, since it is a finding about the target, not an error of ours.
Result<std::vector<StoredCheckpoint>> ReadStored(const std::filesystem::path& folder,
                                                 const CheckpointFormat& format);

}  // namespace reprise

#endif  // REPRISE_HARNESS_CAMPAIGN_STORED_H_
