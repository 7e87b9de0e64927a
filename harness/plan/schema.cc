// The JSON Schema of scenario files; see schema.h.

#include "harness/plan/schema.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "formats/checkpoint_format.h"
#include "harness/base/json_fields.h"
#include "harness/model/outcome.h"
#include "harness/plan/expand.h"
#include "harness/plan/placeholders.h"
#include "injectors/injector.h"

namespace reprise {
namespace {

OrderedJson Text(const char* description) {
  return {{"type", "string"}, {"description", description}};
}

OrderedJson Integer(const char* description, long long minimum) {
  return {{"type", "integer"}, {"minimum", minimum}, {"description", description}};
}

OrderedJson Switch(const char* description) {
  return {{"type", "boolean"}, {"default", false}, {"description", description}};
}

OrderedJson ListOf(OrderedJson items, const std::string& description) {
  return {{"type", "array"},
          {"minItems", 1},
          {"items", std::move(items)},
          {"description", description}};
}

OrderedJson PlainName(const char* description) {
  return {{"type", "string"}, {"pattern", "^[A-Za-z0-9.-]{1,64}$"}, {"description", description}};
}

OrderedJson Object(OrderedJson properties, std::vector<std::string> required) {
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

OrderedJson Reference(const char* name) { return {{"$ref", std::string("#/definitions/") + name}}; }

// One value of a parameter, without lists, "all" and {"random": N}.
OrderedJson OneValue(const ParamSpec& spec) {
  if (spec.domain == ParamDomain::kOperation) {
    return {{"type", "string"}, {"pattern", "^[0-9]+/[0-9]+/[0-9]+$"}};
  }
  switch (spec.type) {
    case ParamType::kInteger:
      return {{"type", "integer"}, {"minimum", spec.min}, {"maximum", spec.max}};
    case ParamType::kText:
      return {{"type", "string"}, {"pattern", "."}};
    case ParamType::kEnum:
      break;
  }
  OrderedJson words = OrderedJson::array();
  OrderedJson forms = OrderedJson::array();
  for (const std::string& choice : spec.choices) {
    if (choice.ends_with(':')) {
      forms.push_back({{"type", "string"}, {"pattern", "^" + choice + "[0-9]+$"}});
    } else {
      words.push_back(choice);
    }
  }
  if (forms.empty()) {
    return {{"enum", std::move(words)}};
  }
  if (!words.empty()) {
    forms.insert(forms.begin(), OrderedJson{{"enum", std::move(words)}});
  }
  return {{"anyOf", std::move(forms)}};
}

OrderedJson ParamSchema(const ParamSpec& spec) {
  const OrderedJson value = OneValue(spec);
  OrderedJson forms = {value, {{"type", "array"}, {"minItems", 1}, {"items", value}}};
  if (CanEnumerate(spec)) {
    forms.push_back({{"const", "all"}});
    forms.push_back(Reference("random"));
  }
  const std::string fallback =
      spec.fallback.empty() ? "required" : fmt::format("default {}", spec.fallback);
  return {{"description", fmt::format("{} ({})", spec.help, fallback)},
          {"anyOf", std::move(forms)}};
}

OrderedJson FaultSchema(const InjectorInfo& info) {
  OrderedJson properties = {
      {"kind", {{"const", info.name}}},
      {"attempt", Integer("the attempt in which, or after which, it acts; 0 is the first", 0)}};
  std::vector<std::string> required = {"kind"};
  for (const ParamSpec& spec : info.params) {
    properties[spec.name] = ParamSchema(spec);
    if (spec.fallback.empty()) {
      required.push_back(spec.name);
    }
  }
  OrderedJson schema = Object(std::move(properties), std::move(required));
  schema["description"] = info.help;
  return schema;
}

OrderedJson AnyFault() {
  OrderedJson kinds = OrderedJson::array();
  for (const InjectorInfo& info : AllInjectors()) {
    kinds.push_back(FaultSchema(info));
  }
  return {{"anyOf", std::move(kinds)}};
}

OrderedJson TargetSchema() {
  OrderedJson formats = {""};
  for (const FormatInfo& info : AllFormats()) {
    formats.push_back(info.name);
  }
  return Object(
      {{"id", PlainName("unique in the file; part of every case id")},
       {"command",
        ListOf({{"type", "string"}},
               fmt::format("program and arguments, started once per rank; {{{}}} are replaced",
                           fmt::join(PlaceholderNames(), "} {")))},
       {"format",
        {{"enum", std::move(formats)},
         {"description", "checkpoint format; empty: unknown, so that no damage can be aimed"}}},
       {"steps", Integer("optimizer steps of the whole training", 1)},
       {"seed", Integer("value of {seed} (default 1)", 0)},
       {"fork_server", Switch("the program answers as a fork server of the C++ probe")},
       {"world_invariant", Switch("the trajectory is bit-equal at any world size")},
       {"environment",
        {{"type", "object"},
         {"additionalProperties", {{"type", "string"}}},
         {"description", "added to the environment of every rank"}}}},
      {"id", "command", "steps"});
}

OrderedJson ExpectationSchema() {
  OrderedJson verdicts = OrderedJson::array();
  for (const Verdict verdict : AllVerdicts()) {
    verdicts.push_back(ToText(verdict));
  }
  const OrderedJson one = {{"enum", std::move(verdicts)}};
  const OrderedJson several = {{"type", "array"}, {"items", one}};
  return Object({{"verdict",
                  {{"anyOf", {one, several}},
                   {"description", "any of these; without it, any that is no finding"}}},
                 {"cause", Text("exact text of the cause")},
                 {"layer", {{"enum", {"", "D0", "D1", "D2", "D3", "D4", "D5", "D6"}}}},
                 {"step", Integer("completed optimizer steps at the divergence", 0)},
                 {"name", Text("what differs: a tensor, a scalar, `sample ids`")}},
                {});
}

OrderedJson WorldSchema() {
  const OrderedJson sizes =
      ListOf({{"type", "integer"}, {"minimum", 1}}, "world size of each attempt, in order");
  return {{"description", "world sizes of the attempts: a list of lists, or all ordered pairs"},
          {"anyOf",
           {ListOf(sizes, "one case for each"),
            Object({{"pairs", ListOf({{"type", "integer"}, {"minimum", 1}}, "world sizes")},
                    {"same", Switch("pairs of equal sizes too")}},
                   {"pairs"})}}};
}

OrderedJson CaseSchema() {
  return Object({{"target", Text("id of a target; may be left out where there is only one")},
                 {"world", WorldSchema()},
                 {"faults",
                  {{"type", "array"},
                   {"items", Reference("fault")},
                   {"description", "all act in one case; empty: uninterrupted runs"}}},
                 {"expect", Reference("expectation")}},
                {"world", "faults"});
}

}  // namespace

std::string ScenarioSchema() {
  OrderedJson schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                        {"title", "Scenario of reprise"},
                        {"description", "docs/scenarios.md; made by `reprise list --schema`"}};
  schema.update(Object({{"$schema", Text("where this schema is, for editors")},
                        {"schema", {{"const", "reprise.scenario/1"}}},
                        {"name", PlainName("first part of every case id")},
                        {"description", Text("for people")},
                        {"targets", ListOf(Reference("target"), "the trainings under test")},
                        {"cases", ListOf(Reference("case"), "what is done to them")}},
                       {"schema", "name", "targets", "cases"}));
  schema["definitions"] = {
      {"target", TargetSchema()},
      {"case", CaseSchema()},
      {"fault", AnyFault()},
      {"expectation", ExpectationSchema()},
      {"random",
       Object({{"random", Integer("so many values, drawn by the seed", 1)}}, {"random"})}};
  return DumpJson(schema, 1) + "\n";
}

}  // namespace reprise
