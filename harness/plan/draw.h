// Stratified draws: few values that cover much. Deterministic for one generator.

#ifndef REPRISE_HARNESS_PLAN_DRAW_H_
#define REPRISE_HARNESS_PLAN_DRAW_H_

#include <cstdint>
#include <vector>

#include "harness/base/random.h"
#include "harness/model/operation.h"

namespace reprise {

// `draw_count` different numbers of [0, count), ascending: one in each of as many equal bins. All
// of them when there are no more.
std::vector<std::int64_t> DrawEvenly(std::int64_t count, std::int64_t draw_count, Random random);

// `draw_count` different operations, ascending by address, spread over saves, ranks and kinds as
// evenly as those allow. All of them when there are no more.
std::vector<Operation> DrawOperations(const std::vector<Operation>& operations,
                                      std::int64_t draw_count, Random random);

}  // namespace reprise

#endif  // REPRISE_HARNESS_PLAN_DRAW_H_
