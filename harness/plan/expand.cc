#include "harness/plan/expand.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "harness/base/check.h"
#include "harness/plan/draw.h"

namespace reprise {
namespace {

using Values = std::vector<std::string>;

bool NeedsReference(const ParamSpec& spec) {
  return spec.domain == ParamDomain::kOperation || spec.domain == ParamDomain::kRecord;
}

std::int64_t IntegerIn(std::string_view text) {
  std::int64_t value = -1;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// The rank that a value names, or -1: of "2", "rank:2", "2/0/7".
std::int64_t NamedRank(const ParamSpec& spec, std::string_view value) {
  if (spec.domain == ParamDomain::kRank) {
    const auto colon = value.find(':');
    return IntegerIn(colon == std::string_view::npos ? value : value.substr(colon + 1));
  }
  return spec.domain == ParamDomain::kOperation ? IntegerIn(value) : -1;
}

tl::unexpected<Error> FailAt(const ExpansionContext& context, const ParamSpec& spec,
                             std::string message) {
  return Fail(ErrorCode::kInvalidInput, std::move(message), context.where + "." + spec.name);
}

// The numbers of "all" that are written as choices or ranks.
Values FixedValues(const ParamSpec& spec, int world) {
  Values values;
  for (const std::string& choice : spec.choices) {
    if (!choice.ends_with(':') && choice != "any") {
      values.push_back(choice);
    }
  }
  for (int rank = 0; spec.choices.empty() && rank < world; ++rank) {
    values.push_back(std::to_string(rank));
  }
  return values;
}

// One fault under construction and the parameter that is filled in next.
class ValueFinder {
 public:
  ValueFinder(const ExpansionContext& context, const InjectorInfo& info, const ParamSpec& spec,
              const Fault& partial)
      : context_(context), info_(info), spec_(spec), partial_(partial) {}

  [[nodiscard]] Result<Values> Find() const {
    const auto listed = context_.fault->values.find(spec_.name);
    if (listed != context_.fault->values.end() && !listed->second.empty()) {
      for (const std::string& value : listed->second) {
        REPRISE_RETURN_IF_ERROR(CheckListed(value));
      }
      return listed->second;
    }
    if (NeedsReference(spec_) && context_.reference == nullptr) {
      return Values{spec_.domain == ParamDomain::kOperation ? "0/0/0" : "0"};
    }
    const auto count = context_.fault->random_counts.find(spec_.name);
    return Enumerate(count == context_.fault->random_counts.end() ? INT64_MAX : count->second);
  }

 private:
  // At most `limit` of all possible values.
  [[nodiscard]] Result<Values> Enumerate(std::int64_t limit) const {
    switch (spec_.domain) {
      case ParamDomain::kOperation:
        return Operations(limit);
      case ParamDomain::kRecord:
        return Numbers(RecordCount(), 0, limit);
      case ParamDomain::kStep:
        return Numbers(context_.steps, 1, limit);
      case ParamDomain::kRank:
      case ParamDomain::kPlain:
        break;
    }
    const Values all = FixedValues(spec_, context_.world);
    Values values;
    for (const auto i : DrawEvenly(static_cast<std::int64_t>(all.size()), limit, Generator())) {
      values.push_back(all[static_cast<std::size_t>(i)]);
    }
    return values;
  }

  [[nodiscard]] Result<Values> Numbers(std::int64_t count, std::int64_t first,
                                       std::int64_t limit) const {
    if (std::min(count, limit) > static_cast<std::int64_t>(kMaxCaseCount)) {
      return FailAt(context_, spec_,
                    fmt::format("more than {} values; use {{\"random\": N}}", kMaxCaseCount));
    }
    Values values;
    for (const std::int64_t i : DrawEvenly(count, limit, Generator())) {
      values.push_back(std::to_string(first + i));
    }
    return values;
  }

  [[nodiscard]] Result<Values> Operations(std::int64_t limit) const {
    std::vector<Operation> possible;
    for (const Operation& operation : context_.reference->operations) {
      if (WouldFire(operation)) {
        possible.push_back(operation);
      }
    }
    if (possible.empty()) {
      return FailAt(context_, spec_,
                    fmt::format("the reference run at world size {} has no file operation at which "
                                "this fault can act",
                                context_.world));
    }
    Values values;
    for (const Operation& operation : DrawOperations(possible, limit, Generator())) {
      values.push_back(operation.address.ToText());
    }
    return values;
  }

  // Asks the injector itself, so that the plan needs no knowledge of cuts.
  [[nodiscard]] bool WouldFire(const Operation& operation) const {
    Fault fault = partial_;
    fault.params[spec_.name] = operation.address.ToText();
    const auto injector = MakeInjector(fault);
    return injector && (*injector)->OnOperation(operation).kind != Action::Kind::kContinue;
  }

  // A draw depends on the case's content alone: a template that is added changes no other's draws.
  [[nodiscard]] Random Generator() const {
    std::string purpose = fmt::format("{}@{}/{}", partial_.kind, partial_.attempt, spec_.name);
    for (const auto& [name, value] : partial_.params) {
      purpose += fmt::format(",{}={}", name, value);
    }
    return context_.random.Split(purpose);
  }

  // Records of the rank that the fault counts.
  [[nodiscard]] std::int64_t RecordCount() const {
    for (const ParamSpec& spec : info_.params) {
      const auto found = partial_.params.find(spec.name);
      if (spec.domain != ParamDomain::kRank || found == partial_.params.end()) {
        continue;
      }
      const auto rank = static_cast<std::size_t>(NamedRank(spec, found->second));
      const auto& counts = context_.reference->record_count;
      return rank < counts.size() ? counts[rank] : 0;
    }
    return 0;
  }

  [[nodiscard]] Status CheckListed(const std::string& value) const {
    if (NamedRank(spec_, value) >= context_.world) {
      return FailAt(context_, spec_,
                    fmt::format("rank {} does not exist at world size {}; expected 0 to {}",
                                NamedRank(spec_, value), context_.world, context_.world - 1));
    }
    if (spec_.domain == ParamDomain::kStep && IntegerIn(value) > context_.steps) {
      return FailAt(context_, spec_,
                    fmt::format("step {} is beyond the target's last step; expected 0 to {}", value,
                                context_.steps));
    }
    // What a restart does is not known from the reference.
    if (context_.reference == nullptr || context_.fault->attempt > 0 || !NeedsReference(spec_)) {
      return {};
    }
    return spec_.domain == ParamDomain::kRecord ? CheckRecord(value) : CheckOperation(value);
  }

  [[nodiscard]] Status CheckRecord(const std::string& value) const {
    const std::int64_t count = RecordCount();
    if (IntegerIn(value) >= count) {
      return FailAt(context_, spec_,
                    fmt::format("record {} does not exist: that rank of the reference run at world "
                                "size {} wrote {}; expected 0 to {}",
                                value, context_.world, count, count - 1));
    }
    return {};
  }

  [[nodiscard]] Status CheckOperation(const std::string& value) const {
    for (const Operation& operation : context_.reference->operations) {
      if (operation.address.ToText() != value) {
        continue;
      }
      return WouldFire(operation)
                 ? Status()
                 : Status(
                       FailAt(context_, spec_,
                              fmt::format("this fault cannot act at {}: it is a {} of {} bytes",
                                          value, ToText(operation.kind), operation.length_bytes)));
    }
    return FailAt(context_, spec_,
                  fmt::format("the reference run at world size {} has no operation {}; {}",
                              context_.world, value, WhatExists(*OperationAddress::Parse(value))));
  }

  [[nodiscard]] std::string WhatExists(const OperationAddress& wanted) const {
    int saves = 0;
    int operations = 0;
    for (const Operation& operation : context_.reference->operations) {
      const OperationAddress& address = operation.address;
      if (address.rank == wanted.rank) {
        saves = std::max(saves, address.save + 1);
        operations = std::max(operations, address.save == wanted.save ? address.n + 1 : 0);
      }
    }
    if (wanted.save >= saves) {
      return fmt::format("rank {} made {} saves", wanted.rank, saves);
    }
    return fmt::format("rank {} made {} operations in save {}, counted from 0", wanted.rank,
                       operations, wanted.save);
  }

  const ExpansionContext& context_;
  const InjectorInfo& info_;
  const ParamSpec& spec_;
  const Fault& partial_;
};

bool IsGiven(const FaultTemplate& fault, const std::string& name) {
  return fault.values.contains(name) || fault.random_counts.contains(name);
}

// `faults`, each with each value of one more parameter.
Result<std::vector<Fault>> FillIn(const ExpansionContext& context, const InjectorInfo& info,
                                  const ParamSpec& spec, const std::vector<Fault>& faults) {
  std::vector<Fault> filled;
  for (const Fault& partial : faults) {
    REPRISE_ASSIGN_OR_RETURN(const Values values, ValueFinder(context, info, spec, partial).Find());
    if (filled.size() + values.size() > kMaxCaseCount) {
      return FailAt(context, spec,
                    fmt::format("more than {} combinations; use {{\"random\": N}}", kMaxCaseCount));
    }
    for (const std::string& value : values) {
      filled.push_back(partial);
      filled.back().params[spec.name] = value;
    }
  }
  return filled;
}

Result<Fault> Validate(const ExpansionContext& context, const Fault& fault) {
  auto valid = ValidateFault(fault);
  if (!valid) {
    Error error = std::move(valid).error();
    // "kill.step: when" -> "smoke.json: cases[0].faults[0].when"
    const auto at = error.where.find(": ");
    error.where = context.where + (at == std::string::npos ? "" : "." + error.where.substr(at + 2));
    return tl::make_unexpected(std::move(error));
  }
  return valid;
}

}  // namespace

bool CanEnumerate(const ParamSpec& spec) {
  switch (spec.domain) {
    case ParamDomain::kOperation:
    case ParamDomain::kRecord:
    case ParamDomain::kStep:
      return true;
    case ParamDomain::kRank:
    case ParamDomain::kPlain:
      break;
  }
  return spec.type == ParamType::kEnum ||
         (spec.type == ParamType::kInteger && spec.domain == ParamDomain::kRank);
}

Result<std::vector<Fault>> ExpandFault(const ExpansionContext& context) {
  const InjectorInfo* info = FindInjector(context.fault->kind);
  REPRISE_CHECK(info != nullptr, context.fault->kind);
  std::vector<Fault> faults = {{.kind = info->name, .attempt = context.fault->attempt}};
  for (const ParamSpec& spec : info->params) {
    if (!IsGiven(*context.fault, spec.name) && !spec.fallback.empty()) {
      faults.front().params[spec.name] = spec.fallback;
    }
  }
  // What only a run can tell comes last, since it depends on the other parameters.
  for (const bool from_reference : {false, true}) {
    for (const ParamSpec& spec : info->params) {
      if (IsGiven(*context.fault, spec.name) && NeedsReference(spec) == from_reference) {
        REPRISE_ASSIGN_OR_RETURN(faults, FillIn(context, *info, spec, faults));
      }
    }
  }
  std::vector<Fault> valid;
  for (const Fault& fault : faults) {
    REPRISE_ASSIGN_OR_RETURN(valid.emplace_back(), Validate(context, fault));
  }
  return valid;
}

}  // namespace reprise
