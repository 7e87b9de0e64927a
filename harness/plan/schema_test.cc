// The schema of scenario files: it is the one in scenarios/, every scenario that we ship fits it,
// and it names exactly the fields that the loader knows.
//
// Validate() knows the keywords that our schema uses and fails on any other one, so nothing in the
// schema goes unchecked here.

#include "harness/plan/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "harness/base/files.h"
#include "harness/base/json_fields.h"
#include "harness/plan/plan.h"
#include "injectors/injector.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

const fs::path kScenarios = REPRISE_SCENARIOS;

const Json& Schema() {
  static const Json schema = *ParseJson(ScenarioSchema(), "schema");
  return schema;
}

bool IsOfType(const Json& value, const std::string& type) {
  return type == "object"    ? value.is_object()
         : type == "array"   ? value.is_array()
         : type == "string"  ? value.is_string()
         : type == "boolean" ? value.is_boolean()
         : type == "integer" ? value.is_number_integer()
                             : false;
}

bool Validate(const Json& value, const Json& schema);

bool ValidateProperties(const Json& value, const Json& schema) {
  for (const auto& [name, field] : value.items()) {
    const Json properties = schema.value("properties", Json::object());
    const Json& rest = schema.at("additionalProperties");
    if (properties.contains(name) ? !Validate(field, properties[name])
        : rest.is_object()        ? !Validate(field, rest)
                                  : true) {
      return false;
    }
  }
  return true;
}

// One keyword of a schema; those that concern another type of value hold.
bool Holds(const std::string& keyword, const Json& value, const Json& schema) {
  const Json& rule = schema.at(keyword);
  if (keyword == "$ref") {
    return Validate(value, Schema().at(Json::json_pointer(rule.get<std::string>().substr(1))));
  }
  if (keyword == "type") {
    return IsOfType(value, rule);
  }
  if (keyword == "const") {
    return value == rule;
  }
  if (keyword == "enum") {
    return std::find(rule.begin(), rule.end(), value) != rule.end();
  }
  if (keyword == "anyOf") {
    return std::any_of(rule.begin(), rule.end(),
                       [&](const Json& each) { return Validate(value, each); });
  }
  if (keyword == "pattern") {
    return !value.is_string() ||
           std::regex_search(value.get<std::string>(), std::regex(rule.get<std::string>()));
  }
  if (keyword == "minimum" || keyword == "maximum") {
    return !value.is_number() || (keyword == "minimum" ? value >= rule : value <= rule);
  }
  if (keyword == "minItems") {
    return !value.is_array() || value.size() >= rule.get<std::size_t>();
  }
  if (keyword == "items") {
    return !value.is_array() || std::all_of(value.begin(), value.end(),
                                            [&](const Json& item) { return Validate(item, rule); });
  }
  if (keyword == "required") {
    return !value.is_object() || std::all_of(rule.begin(), rule.end(), [&](const Json& name) {
      return value.contains(name.get<std::string>());
    });
  }
  if (keyword == "additionalProperties") {
    return !value.is_object() || ValidateProperties(value, schema);
  }
  static const std::set<std::string> kSilent = {"$schema",     "title",   "description",
                                                "definitions", "default", "properties"};
  EXPECT_TRUE(kSilent.contains(keyword)) << keyword;
  return true;
}

bool Validate(const Json& value, const Json& schema) {
  for (const auto& [keyword, rule] : schema.items()) {
    if (!Holds(keyword, value, schema)) {
      return false;
    }
  }
  return true;
}

std::set<std::string> Names(const Json& properties) {
  std::set<std::string> names;
  for (const auto& [name, rule] : properties.items()) {
    names.insert(name);
  }
  return names;
}

class SchemaTest : public testing::Test {
 protected:
  void SetUp() override { folder_ = testing::TempDir() + "reprise-schema-test"; }
  void TearDown() override { EXPECT_TRUE(RemoveTree(folder_)); }

  Result<Scenario> Load(const Json& json) const {
    EXPECT_TRUE(MakeFolders(folder_));
    EXPECT_TRUE(WriteFileAtomically(folder_ / "s.json", json.dump()));
    return LoadScenario(folder_ / "s.json");
  }

  // A scenario with one fault of this kind.
  static Json With(const Json& fault) {
    return {{"schema", "reprise.scenario/1"},
            {"name", "s"},
            {"targets",
             {{{"id", "t"}, {"command", {"x"}}, {"format", "sharded-safetensors"}, {"steps", 9}}}},
            {"cases",
             {{{"world", {{2, 1}}}, {"faults", {fault}}, {"expect", {{"verdict", "exact"}}}}}}};
  }

  // The fields that the loader knows in the object at `place`, as its error names them.
  std::set<std::string> KnownToLoader(Json scenario, const std::string& place) const {
    const std::string stranger = "a-name-that-is-nowhere-near-any-field-of-a-scenario-file";
    scenario[Json::json_pointer(place)][stranger] = 1;
    const auto refused = Load(scenario);
    EXPECT_FALSE(refused);
    const std::string& message = refused.error().message;
    const std::string marker = "unknown field; known here: ";
    EXPECT_EQ(message.find(marker), 0U) << message;
    std::set<std::string> known;
    std::istringstream words(message.substr(std::min(message.size(), marker.size())));
    for (std::string word; std::getline(words, word, ',');) {
      known.insert(word.substr(word.find_first_not_of(' ')));
    }
    return known;
  }

  fs::path folder_;
};

TEST_F(SchemaTest, TheFileInScenariosIsTheOneThatIsGenerated) {
  const auto stored = ReadFile(kScenarios / "schema.json", 1 << 20);
  ASSERT_TRUE(stored) << stored.error().ToString();
  EXPECT_TRUE(*stored == ScenarioSchema())
      << "renew it: reprise list --schema > scenarios/schema.json";
}

TEST_F(SchemaTest, EveryScenarioThatWeShipFits) {
  for (const auto& entry : fs::recursive_directory_iterator(kScenarios)) {
    if (entry.path().extension() == ".json" && entry.path().filename() != "schema.json") {
      const auto text = ReadFile(entry.path(), 1 << 20);
      EXPECT_TRUE(Validate(*ParseJson(*text, "scenario"), Schema())) << entry.path();
    }
  }
}

TEST_F(SchemaTest, NamesExactlyTheFieldsThatTheLoaderKnows) {
  const Json plain = With({{"kind", "damage.drop"}});
  const Json& definitions = Schema()["definitions"];
  EXPECT_EQ(KnownToLoader(plain, ""), Names(Schema()["properties"]));
  EXPECT_EQ(KnownToLoader(plain, "/targets/0"), Names(definitions["target"]["properties"]));
  EXPECT_EQ(KnownToLoader(plain, "/cases/0"), Names(definitions["case"]["properties"]));
  EXPECT_EQ(KnownToLoader(plain, "/cases/0/expect"),
            Names(definitions["expectation"]["properties"]));
  Json pairs = plain;
  pairs["cases"][0]["world"] = {{"pairs", {1, 2}}};
  EXPECT_EQ(KnownToLoader(pairs, "/cases/0/world"),
            Names(definitions["case"]["properties"]["world"]["anyOf"][1]["properties"]));
}

TEST_F(SchemaTest, NamesExactlyTheParametersOfEveryFault) {
  for (const Json& fault : Schema()["definitions"]["fault"]["anyOf"]) {
    const Json& properties = fault["properties"];
    Json given = {{"kind", properties["kind"]["const"]}};
    for (const ParamSpec& spec : FindInjector(given["kind"].get<std::string>())->params) {
      if (spec.fallback.empty()) {
        given[spec.name] = spec.domain == ParamDomain::kOperation ? Json("0/0/0") : Json(spec.min);
      }
    }
    EXPECT_EQ(KnownToLoader(With(given), "/cases/0/faults/0"), Names(properties)) << given;
    EXPECT_TRUE(Validate(With(given), Schema())) << given;
  }
}

TEST_F(SchemaTest, AcceptsEveryFormOfAParameter) {
  for (const char* fault :
       {R"({"kind": "kill.step", "step": [1, 2], "when": "micro:1", "victim": "rank:1"})",
        R"({"kind": "kill.step", "step": "all", "attempt": 0})",
        R"({"kind": "kill.operation", "operation": {"random": 2}, "cut": ["before", "bytes:7"]})",
        R"({"kind": "damage.flip", "region": "all", "rank": -1})",
        R"({"kind": "damage.flip", "tensor": "weight/w", "draw": [0, 1]})"}) {
    const Json scenario = With(*ParseJson(fault, "fault"));
    EXPECT_TRUE(Validate(scenario, Schema())) << fault;
    EXPECT_TRUE(Load(scenario)) << Load(scenario).error().ToString();
  }
  Json editor = With({{"kind", "damage.drop"}});
  editor["$schema"] = "../schema.json";
  EXPECT_TRUE(Validate(editor, Schema()));
  EXPECT_TRUE(Load(editor));
}

TEST_F(SchemaTest, RefusesWhatTheLoaderRefuses) {
  for (const char* fault :
       {R"({"kind": "kill.steps", "step": 1})", R"({"kind": "kill.step"})",
        R"({"kind": "kill.step", "step": []})", R"({"kind": "kill.step", "step": {"random": 0}})",
        R"({"kind": "kill.step", "step": 1, "when": "micro:x"})",
        R"({"kind": "kill.operation", "operation": "0/0"})",
        R"({"kind": "damage.drop", "region": "tail"})", R"({"kind": "damage.flip", "draw": "all"})",
        R"({"kind": "damage.flip", "rank": -2})", R"({"kind": "damage.flip", "tensor": ""})"}) {
    const Json scenario = With(*ParseJson(fault, "fault"));
    EXPECT_FALSE(Validate(scenario, Schema())) << fault;
    EXPECT_FALSE(Load(scenario)) << fault;
  }
}

}  // namespace
}  // namespace reprise
