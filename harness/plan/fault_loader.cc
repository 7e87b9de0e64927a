#include "harness/plan/fault_loader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/plan/expand.h"
#include "injectors/injector.h"

namespace reprise {
namespace {

constexpr std::int64_t kMaxAttempt = 6;  // of 8 lives, the last is not disturbed

// Text of a single value: strings as they are, integers in decimal.
Result<std::string> ValueText(const Json& json, const ParamSpec& spec, const std::string& where) {
  if (!json.is_string() && !json.is_number_integer()) {
    return Fail(
        ErrorCode::kInvalidInput,
        fmt::format("expected a value, a list of values{}, found {}",
                    CanEnumerate(spec) ? ", \"all\" or {\"random\": N}" : "", DescribeJson(json)),
        where);
  }
  auto value = CanonicalValue(spec, json.is_string() ? json.get<std::string>() : DumpJson(json));
  if (!value) {
    return Fail(value.error().code, Excerpt(value.error().message), where);
  }
  return value;
}

bool MeansAll(const Json& json, const ParamSpec& spec) {
  return json == "all" &&
         std::find(spec.choices.begin(), spec.choices.end(), "all") == spec.choices.end();
}

// Reads one parameter into the template.
Status ReadParam(const Json& json, const ParamSpec& spec, const std::string& where,
                 FaultTemplate& result) {
  const bool all = MeansAll(json, spec);
  if ((all || json.is_object()) && !CanEnumerate(spec)) {
    return Fail(ErrorCode::kInvalidInput,
                "expected a value or a list of values: this parameter has no finite set of them",
                where);
  }
  if (json.is_object()) {
    JsonFields fields(json, where);
    const std::int64_t count =
        fields.RequiredInteger("random", 1, static_cast<std::int64_t>(kMaxCaseCount));
    result.random_counts[spec.name] = static_cast<int>(count);
    return fields.Finish();
  }
  std::vector<std::string>& values = result.values[spec.name];
  if (all) {
    return {};
  }
  if (!json.is_array()) {
    REPRISE_ASSIGN_OR_RETURN(values.emplace_back(), ValueText(json, spec, where));
    return {};
  }
  if (json.empty()) {
    return Fail(ErrorCode::kInvalidInput, "expected at least one value, found an empty list",
                where);
  }
  for (const Json& element : json) {
    const std::string at = fmt::format("{}[{}]", where, values.size());
    REPRISE_ASSIGN_OR_RETURN(values.emplace_back(), ValueText(element, spec, at));
  }
  return {};
}

const InjectorInfo* FindKind(JsonFields& fields, const std::string& kind) {
  const InjectorInfo* info = FindInjector(kind);
  if (info == nullptr) {
    std::vector<std::string> known;
    for (const InjectorInfo& each : AllInjectors()) {
      known.push_back(each.name);
    }
    fields.AddError("kind", fmt::format("unknown fault \"{}\"{}", kind, DidYouMean(kind, known)));
  }
  return info;
}

}  // namespace

std::string DidYouMean(std::string_view word, const std::vector<std::string>& known) {
  if (const auto nearest = NearestWord(word, known)) {
    return fmt::format("; did you mean \"{}\"?", *nearest);
  }
  return fmt::format("; known: {}", fmt::join(known, ", "));
}

Result<FaultTemplate> ReadFaultTemplate(const Json& json, const std::string& where) {
  JsonFields fields(json, where);
  FaultTemplate result;
  result.kind = fields.RequiredString("kind");
  REPRISE_RETURN_IF_ERROR(fields.FinishAllowingUnknown());
  const InjectorInfo* info = FindKind(fields, result.kind);
  result.attempt = static_cast<int>(fields.OptionalInteger("attempt", 0, 0, kMaxAttempt));
  REPRISE_RETURN_IF_ERROR(fields.FinishAllowingUnknown());
  for (const ParamSpec& spec : info->params) {
    const Json* param = fields.Optional(spec.name.c_str());
    if (param != nullptr) {
      REPRISE_RETURN_IF_ERROR(
          ReadParam(*param, spec, fields.WhereField(spec.name.c_str()), result));
    } else if (spec.fallback.empty()) {
      fields.AddMissing(spec.name.c_str(), "this field is required: " + spec.help);
    }
  }
  REPRISE_RETURN_IF_ERROR(fields.Finish());
  return result;
}

}  // namespace reprise
