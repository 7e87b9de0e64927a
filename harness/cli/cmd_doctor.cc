// reprise doctor: what this machine allows, and what is lost without it.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <vector>

#include "harness/base/json_fields.h"
#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/process/machine.h"

namespace reprise {
namespace {

MachineFact ExamineModels() {
  MachineFact fact;
  fact.name = "reference trainings";
  fact.ok = std::filesystem::exists(ModelsFolder() / "transformer");
  fact.detail = ModelsFolder().string();
  fact.lost = "scenarios/smoke and scenarios/negative need them; build with libtorch";
  return fact;
}

// kSuccess where recording works; the rest is told, not judged.
std::function<int()> Declare(CLI::App* app) {
  const auto as_json = std::make_shared<bool>(false);
  app->add_flag("--json", *as_json, "as JSON, on standard output");
  return [as_json] {
    std::vector<MachineFact> facts = ExamineMachine();
    facts.push_back(ExamineModels());
    bool can_record = true;
    OrderedJson json = OrderedJson::array();
    for (const MachineFact& fact : facts) {
      can_record &= fact.ok || !fact.required;
      json.push_back({{"name", fact.name},
                      {"ok", fact.ok},
                      {"required", fact.required},
                      {"detail", fact.detail},
                      {"lost", fact.ok ? std::string() : fact.lost}});
      if (!*as_json) {
        fmt::print("{:<5} {:<22} {}\n",
                   fact.ok         ? "ok"
                   : fact.required ? "FAIL"
                                   : "lacks",
                   fact.name, fact.detail);
        if (!fact.ok) {
          fmt::print("      lost: {}\n", fact.lost);
        }
      }
    }
    if (*as_json) {
      fmt::print("{}\n", DumpJson(json, 2));
    }
    return static_cast<int>(can_record ? kSuccess : kHarnessTrouble);
  };
}

}  // namespace

Command DoctorCommand() {
  return {"doctor", "what this machine allows, and what is lost without it", Declare};
}

}  // namespace reprise
