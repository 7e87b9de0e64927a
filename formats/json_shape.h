// Lists of sizes inside JSON. Includes nlohmann's types: for .cc files only.

#ifndef REPRISE_FORMATS_JSON_SHAPE_H_
#define REPRISE_FORMATS_JSON_SHAPE_H_

#include <string>
#include <string_view>

#include "harness/base/json_fields.h"
#include "harness/base/result.h"
#include "harness/model/tensor.h"

namespace reprise {

// More dimensions than any framework has; bounds work on hostile input.
inline constexpr std::size_t kMaxDimensions = 32;

// The required field `name`: an array of at most kMaxDimensions integers from 0 to 2^63 - 1. On
// failure the error is kept in `fields`, and the result is empty.
Shape RequiredSizes(JsonFields* fields, const char* name);

// The required field `name`: the name of an element type. On failure the error is kept in `fields`.
DType RequiredDType(JsonFields* fields, const char* name);

// Text that we are to write as JSON: kInvalidInput, naming `what`, unless it is valid UTF-8.
Status CheckUtf8(std::string_view text, const std::string& what);

// JSON of a file that a program wrote: wrong text is damage (kCorrupt), not wrong input of the
// user.
Error AsDamage(Error error);

}  // namespace reprise

#endif  // REPRISE_FORMATS_JSON_SHAPE_H_
