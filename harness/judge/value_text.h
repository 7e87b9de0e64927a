// Recorded values as a person reads them in a divergence.

#ifndef REPRISE_HARNESS_JUDGE_VALUE_TEXT_H_
#define REPRISE_HARNESS_JUDGE_VALUE_TEXT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "harness/model/float_bits.h"
#include "harness/model/log_record.h"

namespace reprise {

std::string Show(const FloatBits& value);
std::string Show(const std::vector<FloatBits>& values);

// The first eight, and whether there are more.
std::string Show(const std::vector<std::int64_t>& ids);

// "F32 [4, 8]"
std::string Describe(const TensorRecord& record);

std::string DescribeAlias(const std::string& alias_of);

}  // namespace reprise

#endif  // REPRISE_HARNESS_JUDGE_VALUE_TEXT_H_
