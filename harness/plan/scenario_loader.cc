// Reads scenario files (docs/scenarios.md): structure and types here, what only holds together in
// scenario_check.cc.

#include <fmt/format.h>

#include <algorithm>

#include "formats/checkpoint_format.h"
#include "harness/base/files.h"
#include "harness/base/json_fields.h"
#include "harness/plan/case_id.h"
#include "harness/plan/fault_loader.h"
#include "harness/plan/placeholders.h"
#include "harness/plan/plan.h"
#include "harness/plan/scenario_check.h"

namespace reprise {
namespace {

constexpr std::uint64_t kMaxFileBytes = std::uint64_t{4} << 20;
constexpr std::int64_t kMaxSteps = 100'000'000;
constexpr std::int64_t kMaxWorld = 64;
constexpr std::size_t kMaxLives = 8;
// What a file may ask for is bounded, so that a wrong one ends with an error and not with hours.
constexpr std::size_t kMaxTargets = 1'000;
constexpr std::size_t kMaxEntries = 10'000;
constexpr std::size_t kMaxWorldsOfEntry = 1'000;
constexpr std::size_t kMaxFaultsOfEntry = 32;
constexpr const char* kSchema = "reprise.scenario/1";

std::string Indexed(const std::string& where, std::size_t i) {
  return fmt::format("{}[{}]", where, i);
}

// Elements of a required array that must not be empty, and has at most `max_count`.
std::vector<const Json*> Elements(JsonFields& fields, const char* name, std::size_t max_count) {
  std::vector<const Json*> elements;
  if (const Json* array = fields.RequiredArray(name)) {
    for (const Json& element : *array) {
      elements.push_back(&element);
    }
    if (elements.empty()) {
      fields.AddError(name, "expected at least one element, found an empty array");
    } else if (elements.size() > max_count) {
      fields.AddError(
          name, fmt::format("expected at most {} elements, found {}", max_count, elements.size()));
    }
  }
  return elements;
}

std::string PlainName(JsonFields& fields, const char* name) {
  std::string value = fields.RequiredString(name);
  const bool is_present = fields.Optional(name) != nullptr;
  if (is_present && !IsPlainName(value)) {
    fields.AddError(
        name, fmt::format("expected 1 to 64 letters, digits, '.' or '-', found \"{}\"", value));
  }
  return value;
}

void CheckFormat(JsonFields& fields, const std::string& format) {
  if (format.empty() || FindFormat(format) != nullptr) {
    return;
  }
  std::vector<std::string> known;
  for (const FormatInfo& info : AllFormats()) {
    known.push_back(info.name);
  }
  fields.AddError("format", fmt::format("unknown checkpoint format \"{}\"{}", format,
                                        DidYouMean(format, known)));
}

std::map<std::string, std::string> ReadEnvironment(JsonFields& fields) {
  std::map<std::string, std::string> environment;
  const Json* object = fields.Optional("environment");
  if (object == nullptr) {
    return environment;
  }
  if (!object->is_object()) {
    fields.AddError("environment", "expected an object, found " + DescribeJson(*object));
    return environment;
  }
  for (const auto& [name, value] : object->items()) {
    if (value.is_string() && !name.empty() && name.find('=') == std::string::npos) {
      environment[name] = value.get<std::string>();
    } else {
      fields.AddError(("environment." + name).c_str(),
                      "expected a name without '=' and a string, found " + DescribeJson(value));
    }
  }
  return environment;
}

Result<Target> ReadTarget(const Json& json, const std::string& where) {
  JsonFields fields(json, where);
  Target target;
  target.id = PlainName(fields, "id");
  fields.RequiredArray("command");
  target.command = fields.OptionalStrings("command");
  if (target.command.empty() || target.command.front().empty()) {
    fields.AddError("command", "expected a program and its arguments, found no program");
  }
  for (const std::string& argument : target.command) {
    if (const Status status = CheckPlaceholders(argument); !status) {
      fields.AddError("command", status.error().message);
    }
  }
  target.format = fields.OptionalString("format", "");
  CheckFormat(fields, target.format);
  target.steps = fields.RequiredInteger("steps", 1, kMaxSteps);
  target.seed = fields.OptionalInteger("seed", 1, 0, INT64_MAX);
  target.fork_server = fields.OptionalBool("fork_server", false);
  target.world_invariant = fields.OptionalBool("world_invariant", false);
  target.environment = ReadEnvironment(fields);
  REPRISE_RETURN_IF_ERROR(fields.Finish());
  return target;
}

Result<std::vector<int>> ReadSizes(const Json& json, const std::string& where) {
  if (!json.is_array() || json.empty() || json.size() > kMaxLives) {
    return Fail(ErrorCode::kInvalidInput,
                fmt::format("expected 1 to {} world sizes, such as [2, 1], found {}", kMaxLives,
                            DescribeJson(json)),
                where);
  }
  std::vector<int> sizes;
  for (const Json& size : json) {
    if (!size.is_number_integer() || size < 1 || size > kMaxWorld) {
      return Fail(ErrorCode::kInvalidInput,
                  fmt::format("expected a world size from 1 to {}, found {}", kMaxWorld,
                              DescribeJson(size)),
                  Indexed(where, sizes.size()));
    }
    sizes.push_back(size.get<int>());
  }
  return sizes;
}

// {"pairs": [1, 2, 3], "same": true}: all ordered pairs, with or without those of equal sizes.
Result<std::vector<std::vector<int>>> ReadPairs(const Json& json, const std::string& where) {
  JsonFields fields(json, where);
  const Json* pairs = fields.RequiredArray("pairs");
  const bool same = fields.OptionalBool("same", false);
  REPRISE_RETURN_IF_ERROR(fields.Finish());
  REPRISE_ASSIGN_OR_RETURN(const std::vector<int> sizes, ReadSizes(*pairs, where + ".pairs"));
  std::vector<std::vector<int>> worlds;
  for (const int from : sizes) {
    for (const int to : sizes) {
      if (from != to || same) {
        worlds.push_back({from, to});
      }
    }
  }
  if (worlds.empty()) {
    return Fail(ErrorCode::kInvalidInput, "expected two or more different sizes, or \"same\": true",
                where + ".pairs");
  }
  return worlds;
}

Result<std::vector<std::vector<int>>> ReadWorlds(JsonFields& fields) {
  const Json* json = fields.Optional("world");
  const std::string where = fields.WhereField("world");
  if (json != nullptr && json->is_object()) {
    return ReadPairs(*json, where);
  }
  if (json != nullptr && json->is_array() && json->size() > kMaxWorldsOfEntry) {
    return Fail(ErrorCode::kInvalidInput,
                fmt::format("expected at most {} lists of world sizes, found {}", kMaxWorldsOfEntry,
                            json->size()),
                where);
  }
  if (json == nullptr || !json->is_array() || json->empty()) {
    return Fail(ErrorCode::kInvalidInput,
                fmt::format("expected a list such as [[1, 2], [2, 1]] or {{\"pairs\": [1, 2]}}, "
                            "found {}",
                            json == nullptr ? "nothing" : DescribeJson(*json)),
                where);
  }
  std::vector<std::vector<int>> worlds;
  for (const Json& entry : *json) {
    REPRISE_ASSIGN_OR_RETURN(worlds.emplace_back(),
                             ReadSizes(entry, Indexed(where, worlds.size())));
  }
  return worlds;
}

// One verdict or several.
std::vector<Verdict> ReadVerdicts(JsonFields& fields) {
  const Json* json = fields.Optional("verdict");
  std::vector<std::string> words;
  if (json != nullptr && json->is_string()) {
    words = {json->get<std::string>()};
  } else {
    words = fields.OptionalStrings("verdict");
  }
  std::vector<std::string> known;
  for (const Verdict verdict : AllVerdicts()) {
    known.emplace_back(ToText(verdict));
  }
  std::vector<Verdict> verdicts;
  for (const std::string& word : words) {
    if (const auto verdict = ParseVerdict(word)) {
      verdicts.push_back(*verdict);
    } else {
      fields.AddError("verdict",
                      fmt::format("unknown verdict \"{}\"{}", word, DidYouMean(word, known)));
    }
  }
  return verdicts;
}

Result<Expectation> ReadExpectation(const Json& json, const std::string& where) {
  JsonFields fields(json, where);
  Expectation expect;
  expect.verdicts = ReadVerdicts(fields);
  expect.cause = fields.OptionalString("cause", "");
  expect.name = fields.OptionalString("name", "");
  const std::string layer = fields.OptionalString("layer", "");
  expect.layer = ParseLayer(layer);
  if (!layer.empty() && !expect.layer) {
    fields.AddError("layer", "expected one of D0 to D6, found \"" + layer + "\"");
  }
  const std::int64_t step = fields.OptionalInteger("step", -1, 0, kMaxSteps);
  if (step >= 0) {
    expect.step = step;
  }
  REPRISE_RETURN_IF_ERROR(fields.Finish());
  return expect;
}

// The target that a case names, or the only one.
void ReadTargetName(JsonFields& fields, const std::vector<Target>& targets, CaseTemplate& result) {
  std::vector<std::string> known;
  known.reserve(targets.size());
  for (const Target& target : targets) {
    known.push_back(target.id);
  }
  result.target = fields.OptionalString("target", known.size() == 1 ? known.front() : "");
  if (result.target.empty()) {
    fields.AddError("target",
                    fmt::format("this field is required where there are several targets{}",
                                DidYouMean("", known)));
  } else if (std::find(known.begin(), known.end(), result.target) == known.end()) {
    fields.AddError("target", fmt::format("unknown target \"{}\"{}", result.target,
                                          DidYouMean(result.target, known)));
  }
}

Result<CaseTemplate> ReadCase(const Json& json, const std::string& where,
                              const std::vector<Target>& targets) {
  JsonFields fields(json, where);
  CaseTemplate result;
  result.where = where;
  ReadTargetName(fields, targets, result);
  const Json* faults = fields.RequiredArray("faults");
  if (faults != nullptr && faults->size() > kMaxFaultsOfEntry) {
    fields.AddError("faults", fmt::format("expected at most {} faults, found {}", kMaxFaultsOfEntry,
                                          faults->size()));
  }
  const Json* expect = fields.Optional("expect");
  fields.Optional("world");
  REPRISE_RETURN_IF_ERROR(fields.Finish());
  REPRISE_ASSIGN_OR_RETURN(result.worlds, ReadWorlds(fields));
  for (const Json& fault : *faults) {
    const std::string at = Indexed(fields.WhereField("faults"), result.faults.size());
    REPRISE_ASSIGN_OR_RETURN(result.faults.emplace_back(), ReadFaultTemplate(fault, at));
  }
  if (expect != nullptr) {
    REPRISE_ASSIGN_OR_RETURN(result.expect, ReadExpectation(*expect, fields.WhereField("expect")));
  }
  return result;
}

Result<Scenario> ReadScenario(const Json& json, const std::filesystem::path& path) {
  JsonFields fields(json, path.string());
  Scenario scenario;
  scenario.path = path;
  fields.OptionalString("$schema", "");  // for editors
  const std::string schema = fields.RequiredString("schema");
  if (!schema.empty() && schema != kSchema) {
    fields.AddError("schema", fmt::format("expected \"{}\", found \"{}\"", kSchema, schema));
  }
  scenario.name = PlainName(fields, "name");
  scenario.description = fields.OptionalString("description", "");
  const auto targets = Elements(fields, "targets", kMaxTargets);
  const auto cases = Elements(fields, "cases", kMaxEntries);
  REPRISE_RETURN_IF_ERROR(fields.Finish());
  for (const Json* target : targets) {
    const std::string at = Indexed(fields.WhereField("targets"), scenario.targets.size());
    REPRISE_ASSIGN_OR_RETURN(scenario.targets.emplace_back(), ReadTarget(*target, at));
  }
  for (const Json* entry : cases) {
    const std::string at = Indexed(fields.WhereField("cases"), scenario.cases.size());
    REPRISE_ASSIGN_OR_RETURN(scenario.cases.emplace_back(), ReadCase(*entry, at, scenario.targets));
  }
  return scenario;
}

}  // namespace

Result<Scenario> LoadScenario(const std::filesystem::path& path) {
  REPRISE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxFileBytes));
  REPRISE_ASSIGN_OR_RETURN(const Json json, ParseJson(text, path.string()));
  REPRISE_ASSIGN_OR_RETURN(Scenario scenario, ReadScenario(json, path));
  REPRISE_RETURN_IF_ERROR(CheckScenario(scenario));
  return scenario;
}

}  // namespace reprise
