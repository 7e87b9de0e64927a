// Strict reading of a JSON object: each field named once, typed, and nothing left over.
//
// Errors say where ("smoke.json: cases[2].fault.rank"), what was expected and what was seen; an
// unknown field names the nearest known one. Includes nlohmann's types: for .cc files only.

#ifndef REPRISE_HARNESS_BASE_JSON_FIELDS_H_
#define REPRISE_HARNESS_BASE_JSON_FIELDS_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"

namespace reprise {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

// Parses text; `where` names the file in the error, which has line and column. Depth is bounded at
// 64 levels, and a key that occurs twice in an object is an error. Errors are short whatever the
// text is.
Result<Json> ParseJson(std::string_view text, const std::string& where);

// Foreign text may be megabytes of anything; an error shows its beginning and its size.
inline constexpr std::size_t kMaxQuoteBytes = 200;
std::string Excerpt(std::string text, std::size_t max_bytes = kMaxQuoteBytes);

// Text of any JSON value that we built. Bytes that are not UTF-8 are replaced, never thrown at.
std::string DumpJson(const Json& value, int indent = -1);
std::string DumpJson(const OrderedJson& value, int indent = -1);

// Of `known`, the word that `word` was probably meant to be (small edit distance), if any.
std::optional<std::string> NearestWord(std::string_view word,
                                       const std::vector<std::string>& known);

// Usage: get every field, then `REPRISE_RETURN_IF_ERROR(fields.Finish())`. The first error is kept
// and returned by Finish(); getters return a default after it, so callers need not test in between.
class JsonFields {
 public:
  // `value` must outlive this object. An error is kept when it is not an object.
  JsonFields(const Json& value, std::string where);

  std::string RequiredString(const char* name);
  std::string OptionalString(const char* name, std::string fallback);
  std::int64_t RequiredInteger(const char* name, std::int64_t min, std::int64_t max);
  std::int64_t OptionalInteger(const char* name, std::int64_t fallback, std::int64_t min,
                               std::int64_t max);
  bool OptionalBool(const char* name, bool fallback);
  // Null when absent.
  const Json* Optional(const char* name);
  const Json* RequiredArray(const char* name);
  const Json* RequiredObject(const char* name);
  std::vector<std::string> OptionalStrings(const char* name);

  // Records an error at this object's field `name`, if it is the first.
  void AddError(const char* name, std::string message);
  // The same for a field that should be there; Finish() prefers to name an unknown one.
  void AddMissing(const char* name, std::string message);

  [[nodiscard]] const std::string& Where() const { return where_; }
  [[nodiscard]] std::string WhereField(const char* name) const;

  // kInvalidInput with the first error, or with the first field that nobody asked for.
  [[nodiscard]] Status Finish() const;
  // The same, but fields that nobody asked for are accepted (for formats that may grow).
  [[nodiscard]] Status FinishAllowingUnknown() const;

 private:
  const Json* Find(const char* name, bool required);

  const Json* value_;
  std::string where_;
  std::vector<std::string> asked_;
  std::optional<Error> error_;
  std::optional<Error> missing_;  // the first required field that is absent
};

// "a string", "an integer", … for error messages.
std::string DescribeJson(const Json& value);

}  // namespace reprise

#endif  // REPRISE_HARNESS_BASE_JSON_FIELDS_H_
