// The ranks talk: the one collective that the training is built from.

#ifndef REPRISE_REFERENCE_MODELS_COLLECTIVE_H_
#define REPRISE_REFERENCE_MODELS_COLLECTIVE_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "reference_models/options.h"

namespace reprise::models {

// Failure of a peer is an error on every other rank within the time-out (20 s), at once when its
// connection closes. After an error the object is of no further use.
class Collective {
 public:
  virtual ~Collective() = default;

  [[nodiscard]] virtual int Rank() const = 0;
  [[nodiscard]] virtual int World() const = 0;

  // Everyone's bytes, in rank order. REQUIRES: the same size on all ranks.
  virtual Result<std::vector<std::string>> AllGather(std::string_view mine) = 0;
};

// Everyone's text of any size, in rank order.
Result<std::vector<std::string>> AllGatherTexts(Collective& collective, std::string_view mine);

// Ok when `mine` is ok on all ranks; else the error of the lowest rank that has one, with its rank.
// Also a barrier.
Status AgreeOn(Collective& collective, const Status& mine);

// Joins the ranks over c10d (TCPStore and ProcessGroupGloo). A world of one uses no network.
Result<std::unique_ptr<Collective>> JoinRanks(const Place& place);

}  // namespace reprise::models

#endif  // REPRISE_REFERENCE_MODELS_COLLECTIVE_H_
