#include "formats/json_shape.h"

#include <fmt/format.h>

namespace reprise {

Shape RequiredSizes(JsonFields* fields, const char* name) {
  const Json* array = fields->RequiredArray(name);
  if (array == nullptr) {
    return {};
  }
  if (array->size() > kMaxDimensions) {
    fields->AddError(name, fmt::format("expected at most {} dimensions, found {}", kMaxDimensions,
                                       array->size()));
    return {};
  }
  Shape sizes;
  for (const Json& item : *array) {
    if (!item.is_number_unsigned() || item.get<std::uint64_t>() > std::uint64_t{INT64_MAX}) {
      fields->AddError(name, "expected sizes from 0 to 2^63 - 1, found " + DescribeJson(item));
      return {};
    }
    sizes.push_back(static_cast<std::int64_t>(item.get<std::uint64_t>()));
  }
  return sizes;
}

DType RequiredDType(JsonFields* fields, const char* name) {
  const std::string text = fields->RequiredString(name);
  const std::optional<DType> dtype = ParseDType(text);
  if (!dtype) {
    fields->AddError(name, fmt::format("the element type \"{}\" is not one that we read", text));
  }
  return dtype.value_or(DType::kU8);
}

Status CheckUtf8(std::string_view text, const std::string& what) {
  const auto copy = ParseJson(DumpJson(Json(std::string(text))), what);
  if (!copy || copy->get<std::string>() != text) {
    return Fail(ErrorCode::kInvalidInput, "the text is not valid UTF-8 and cannot be stored", what);
  }
  return {};
}

Error AsDamage(Error error) {
  if (error.code == ErrorCode::kInvalidInput) {
    error.code = ErrorCode::kCorrupt;
  }
  return error;
}

}  // namespace reprise
