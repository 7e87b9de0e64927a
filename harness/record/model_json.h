// JSON forms of the nouns that a run directory keeps. Includes nlohmann's types: for .cc files
// only.
//
// Decoders are strict about types and lenient about fields that a later version may have added.

#ifndef REPRISE_HARNESS_RECORD_MODEL_JSON_H_
#define REPRISE_HARNESS_RECORD_MODEL_JSON_H_

#include <string>

#include "harness/base/json_fields.h"
#include "harness/base/result.h"
#include "harness/model/attempt.h"
#include "harness/model/case.h"
#include "harness/model/report.h"

namespace reprise {

OrderedJson EncodeTarget(const TargetReport& target);
Result<TargetReport> DecodeTarget(const Json& json, const std::string& where);

OrderedJson EncodeCase(const CaseReport& report);
Result<CaseReport> DecodeCase(const Json& json, const std::string& where);

// Without the data of writes.
OrderedJson EncodeOperation(const Operation& operation);
Result<Operation> DecodeOperation(const Json& json, const std::string& where);

}  // namespace reprise

#endif  // REPRISE_HARNESS_RECORD_MODEL_JSON_H_
