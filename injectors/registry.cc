// The list of all injectors, and the validation of faults against their descriptions.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/base/json_fields.h"
#include "injectors/injector.h"

namespace reprise {

#define REPRISE_INJECTOR(Name) InjectorInfo Name##Info();
#include "injectors/injectors.inc"
#undef REPRISE_INJECTOR

const std::vector<InjectorInfo>& AllInjectors() {
  static const std::vector<InjectorInfo> all = {
#define REPRISE_INJECTOR(Name) Name##Info(),
#include "injectors/injectors.inc"
#undef REPRISE_INJECTOR
  };
  return all;
}

const InjectorInfo* FindInjector(std::string_view name) {
  for (const InjectorInfo& info : AllInjectors()) {
    if (info.name == name) {
      return &info;
    }
  }
  return nullptr;
}

namespace {

std::string DidYouMean(std::string_view word, const std::vector<std::string>& known) {
  if (const auto nearest = NearestWord(word, known)) {
    return fmt::format("; did you mean \"{}\"?", *nearest);
  }
  return fmt::format("; known: {}", fmt::join(known, ", "));
}

tl::unexpected<Error> FailUnknownKind(const std::string& kind) {
  std::vector<std::string> names;
  for (const InjectorInfo& info : AllInjectors()) {
    names.push_back(info.name);
  }
  return Fail(ErrorCode::kInvalidInput,
              fmt::format("unknown fault \"{}\"{}", kind, DidYouMean(kind, names)), "kind");
}

Status CheckParamNames(const InjectorInfo& info, const Fault& fault) {
  std::vector<std::string> names;
  for (const ParamSpec& spec : info.params) {
    names.push_back(spec.name);
  }
  for (const auto& [name, value] : fault.params) {
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return Fail(ErrorCode::kInvalidInput, "unknown parameter" + DidYouMean(name, names),
                  info.name + ": " + name);
    }
  }
  return {};
}

// Parameters with defaults, each right by itself.
Result<Fault> FillIn(const InjectorInfo& info, const Fault& fault) {
  REPRISE_RETURN_IF_ERROR(CheckParamNames(info, fault));
  Fault filled{.kind = fault.kind, .attempt = fault.attempt};
  for (const ParamSpec& spec : info.params) {
    const auto given = fault.params.find(spec.name);
    const std::string where = info.name + ": " + spec.name;
    if (given == fault.params.end() && spec.fallback.empty()) {
      return Fail(ErrorCode::kInvalidInput, "this parameter is required: " + spec.help, where);
    }
    auto value = CanonicalValue(spec, given == fault.params.end() ? spec.fallback : given->second);
    if (!value) {
      return Fail(value.error().code, value.error().message, where);
    }
    filled.params[spec.name] = *std::move(value);
  }
  return filled;
}

Result<std::unique_ptr<Injector>> MakeFilledIn(const InjectorInfo& info, const Fault& filled) {
  auto injector = info.make(Params(filled.params));
  if (!injector) {
    Error error = std::move(injector).error();
    error.where = info.name + (error.where.empty() ? "" : ": " + error.where);
    return tl::make_unexpected(std::move(error));
  }
  return injector;
}

}  // namespace

Result<Fault> ValidateFault(const Fault& fault) {
  const InjectorInfo* info = FindInjector(fault.kind);
  if (info == nullptr) {
    return FailUnknownKind(fault.kind);
  }
  REPRISE_ASSIGN_OR_RETURN(Fault filled, FillIn(*info, fault));
  REPRISE_RETURN_IF_ERROR(MakeFilledIn(*info, filled));
  return filled;
}

Result<std::unique_ptr<Injector>> MakeInjector(const Fault& fault) {
  const InjectorInfo* info = FindInjector(fault.kind);
  if (info == nullptr) {
    return FailUnknownKind(fault.kind);
  }
  REPRISE_ASSIGN_OR_RETURN(const Fault filled, FillIn(*info, fault));
  return MakeFilledIn(*info, filled);
}

}  // namespace reprise
