// reprise list: the plug-ins, as they describe themselves.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "formats/checkpoint_format.h"
#include "harness/base/json_fields.h"
#include "harness/cli/command.h"
#include "harness/plan/schema.h"
#include "injectors/injector.h"
#include "reports/report_writer.h"

namespace reprise {
namespace {

OrderedJson ToJson(const ParamSpec& spec) {
  OrderedJson json = {{"name", spec.name}, {"help", spec.help}, {"default", spec.fallback}};
  switch (spec.type) {
    case ParamType::kInteger:
      json["type"] = "integer";
      json["min"] = spec.min;
      json["max"] = spec.max;
      break;
    case ParamType::kEnum:
      json["type"] = "choice";
      json["choices"] = spec.choices;
      break;
    case ParamType::kText:
      json["type"] = "text";
      break;
  }
  return json;
}

OrderedJson Everything() {
  OrderedJson json;
  for (const InjectorInfo& info : AllInjectors()) {
    OrderedJson entry = {
        {"name", info.name}, {"help", info.help}, {"params", OrderedJson::array()}};
    for (const ParamSpec& spec : info.params) {
      entry["params"].push_back(ToJson(spec));
    }
    json["injectors"].push_back(entry);
  }
  for (const FormatInfo& info : AllFormats()) {
    json["formats"].push_back({{"name", info.name}, {"help", info.help}});
  }
  for (const WriterInfo& info : AllWriters()) {
    json["reports"].push_back({{"name", info.name}, {"help", info.help}});
  }
  return json;
}

std::string DescribeParam(const OrderedJson& param) {
  std::string range;
  if (param["type"] == "integer") {
    range = fmt::format("{} to {}", param["min"].get<long long>(), param["max"].get<long long>());
  } else if (param["type"] == "choice") {
    range = fmt::format("{}", fmt::join(param["choices"].get<std::vector<std::string>>(), " | "));
  } else {
    range = "text";
  }
  const auto fallback = param["default"].get<std::string>();
  return fmt::format("      {:<14} {} ({}; {})\n", param["name"].get<std::string>(),
                     param["help"].get<std::string>(), range,
                     fallback.empty() ? "required" : "default " + fallback);
}

void Print(const OrderedJson& json) {
  for (const auto& [title, entries] : json.items()) {
    fmt::print("{}\n", title);
    for (const OrderedJson& entry : entries) {
      fmt::print("  {:<22} {}\n", entry["name"].get<std::string>(),
                 entry["help"].get<std::string>());
      if (entry.contains("params")) {
        for (const OrderedJson& param : entry["params"]) {
          fmt::print("{}", DescribeParam(param));
        }
      }
    }
    fmt::print("\n");
  }
}

std::function<int()> Declare(CLI::App* app) {
  const auto json = std::make_shared<bool>(false);
  const auto schema = std::make_shared<bool>(false);
  CLI::Option* as_json = app->add_flag("--json", *json, "as JSON, on standard output");
  app->add_flag("--schema", *schema, "the JSON Schema of scenario files, for editors")
      ->excludes(as_json);
  return [json, schema] {
    if (*schema) {
      fmt::print("{}", ScenarioSchema());
    } else if (*json) {
      fmt::print("{}\n", DumpJson(Everything(), 2));
    } else {
      Print(Everything());
    }
    return static_cast<int>(kSuccess);
  };
}

}  // namespace

Command ListCommand() {
  return {"list", "injectors, formats and reports, with their parameters", Declare};
}

}  // namespace reprise
