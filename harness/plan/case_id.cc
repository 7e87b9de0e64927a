#include "harness/plan/case_id.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/base/check.h"
#include "harness/base/content_id.h"
#include "injectors/injector.h"

namespace reprise {
namespace {

constexpr std::size_t kMaxIdLength = 200;
constexpr std::size_t kMaxNameLength = 64;

bool IsPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-';
}

// '/' and ':' of addresses and choices become '.', which no such value contains. Free text could
// collide that way, so a part of its hash follows.
std::string Readable(const ParamSpec& spec, const std::string& value) {
  std::string text = value;
  for (char& c : text) {
    c = IsPlain(c) || c == '_' ? c : '.';
  }
  const bool free_text = spec.type == ParamType::kText && spec.domain == ParamDomain::kPlain;
  return free_text && text != value ? text + ".h" + ContentId(value).substr(0, 8) : text;
}

std::string FaultPart(const Fault& fault) {
  const InjectorInfo* info = FindInjector(fault.kind);
  REPRISE_CHECK(info != nullptr, fault.kind);
  std::string part = fault.kind;
  for (const ParamSpec& spec : info->params) {
    const std::string& value = fault.params.at(spec.name);
    if (spec.fallback.empty()) {
      part += "-" + Readable(spec, value);
    } else if (value != spec.fallback) {
      part += fmt::format("-{}.{}", spec.name, Readable(spec, value));
    }
  }
  return fault.attempt == 0 ? part : fmt::format("{}-attempt.{}", part, fault.attempt);
}

}  // namespace

bool IsPlainName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameLength &&
         std::all_of(name.begin(), name.end(), IsPlain);
}

std::string CaseId(const Case& the_case) {
  std::string id =
      fmt::format("{}_{}_w{}", the_case.scenario, the_case.target, fmt::join(the_case.world, "-"));
  for (const Fault& fault : the_case.faults) {
    id += "_" + FaultPart(fault);
  }
  if (the_case.IsFinishedAgain()) {
    id += "_finished-again";
  } else if (the_case.faults.empty()) {
    id += fmt::format("_uninterrupted-as.{}", the_case.reference_world);
  }
  if (id.size() > kMaxIdLength) {
    const std::string hash = ContentId(id).substr(0, 16);
    id = id.substr(0, kMaxIdLength - hash.size() - 2) + ".h" + hash;
  }
  return id;
}

}  // namespace reprise
