// How a checkpoint is saved and found again. Both are components too: a mutant replaces one.

#ifndef REPRISE_REFERENCE_MODELS_SAVER_H_
#define REPRISE_REFERENCE_MODELS_SAVER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "formats/checkpoint_format.h"
#include "harness/base/result.h"
#include "reference_models/collective.h"
#include "reference_models/component.h"
#include "reference_models/options.h"

namespace reprise::models {

struct SaveRequest {
  std::string folder;
  std::int64_t step = 0;
  int keep = 1;
};

class Saver {
 public:
  virtual ~Saver() = default;

  // Called by all ranks; `part` is what the components of this rank save. When it returns ok on one
  // rank, the checkpoint is durable and published, and every rank gets ok or the same error.
  virtual Status Save(const SaveRequest& request, const StateView& part,
                      Collective& collective) = 0;
};

// Every rank writes its shard; rank 0, which has everyone's summary only when all shards are
// durable, publishes; nobody goes on before that.
class ShardedSaver : public Saver {
 public:
  explicit ShardedSaver(std::unique_ptr<CheckpointFormat> format) : format_(std::move(format)) {}
  Status Save(const SaveRequest& request, const StateView& part, Collective& collective) override;

 protected:
  std::unique_ptr<CheckpointFormat> format_;
};

// What a format is given of `part`. The spans point into `part`.
std::vector<StateEntry> EntriesOf(const StateView& part);

struct Restored {
  std::string name;  // of the checkpoint; empty: none was there, the training is fresh
  std::int64_t step = 0;
  std::vector<std::string> refused;  // newer ones that could not be used: "name: reason"
};

class Restorer {
 public:
  virtual ~Restorer() = default;

  // Called by all ranks: loads `components` from the newest checkpoint that every rank can read.
  // Those that are refused are announced on standard error of rank 0. An error when there are
  // checkpoints and none can be used.
  virtual Result<Restored> Restore(const std::string& folder,
                                   const std::vector<Component*>& components,
                                   Collective& collective) = 0;
};

class NewestFirstRestorer : public Restorer {
 public:
  explicit NewestFirstRestorer(std::unique_ptr<CheckpointFormat> format)
      : format_(std::move(format)) {}
  Result<Restored> Restore(const std::string& folder, const std::vector<Component*>& components,
                           Collective& collective) override;

 protected:
  // Candidates in the order in which they are tried.
  virtual Result<std::vector<CheckpointRef>> Candidates(const std::string& folder) const;

  std::unique_ptr<CheckpointFormat> format_;

 private:
  Status Load(const std::string& folder, const CheckpointRef& candidate,
              const std::vector<Component*>& components) const;
};

}  // namespace reprise::models

#endif  // REPRISE_REFERENCE_MODELS_SAVER_H_
