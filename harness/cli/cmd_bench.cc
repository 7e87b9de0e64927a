// reprise bench: the figures of docs/benchmarks.md, measured on this machine.

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdlib.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "benchmarks/figure.h"
#include "harness/base/files.h"
#include "harness/base/json_fields.h"
#include "harness/cli/command.h"
#include "harness/cli/output.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

struct BenchFlags {
  std::vector<std::string> groups;
  std::string scenarios = "scenarios";
  std::string json;
};

std::string State(const bench::Figure& figure) {
  if (!figure.value) {
    return "-";
  }
  const auto is_met = figure.IsMet();
  return !is_met ? "" : *is_met ? "ok" : "MISSED";
}

// To standard error when the JSON goes to standard output.
void Say(const bench::Figure& figure, std::FILE* out) {
  fmt::print(out, "{:<7}{:<30}{:>10} {:<7}{:<11}{}\n", State(figure), figure.name,
             figure.value ? fmt::format("{:.4g}", *figure.value) : "", figure.unit,
             figure.goal.ToText(), figure.note);
  std::fflush(out);
}

// A value that is absent was not measured; `ok` is null there, and where there is no goal.
OrderedJson ToJson(const bench::Figure& figure) {
  OrderedJson json = {{"name", figure.name}, {"value", nullptr}, {"unit", figure.unit},
                      {"target", nullptr},   {"ok", nullptr},    {"note", figure.note}};
  if (figure.value) {
    json["value"] = *figure.value;
  }
  if (const std::string goal = figure.goal.ToText(); !goal.empty()) {
    json["target"] = goal;
  }
  if (const auto is_met = figure.IsMet()) {
    json["ok"] = *is_met;
  }
  return json;
}

Result<std::vector<const bench::FigureGroup*>> Choose(const std::vector<std::string>& names) {
  std::vector<const bench::FigureGroup*> chosen;
  std::vector<std::string> known;
  for (const bench::FigureGroup& group : bench::AllFigureGroups()) {
    known.push_back(group.name);
    if (names.empty() || std::find(names.begin(), names.end(), group.name) != names.end()) {
      chosen.push_back(&group);
    }
  }
  for (const std::string& name : names) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      return Fail(ErrorCode::kUsage, fmt::format("no figures named \"{}\"; there are: {}", name,
                                                 fmt::join(known, ", ")));
    }
  }
  return chosen;
}

// A folder of its own, removed at the end.
class WorkFolder {
 public:
  static Result<WorkFolder> Make() {
    std::error_code error;
    std::string pattern = (fs::temp_directory_path(error) / "reprise-bench-XXXXXX").string();
    if (error || mkdtemp(pattern.data()) == nullptr) {
      return FailErrno(error ? error.value() : errno, "cannot make a folder to work in", pattern);
    }
    return WorkFolder(pattern);
  }
  WorkFolder(WorkFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  WorkFolder& operator=(WorkFolder&&) = delete;
  ~WorkFolder() {
    if (!path_.empty()) {
      static_cast<void>(RemoveTree(path_));
    }
  }

  [[nodiscard]] const fs::path& Path() const { return path_; }

 private:
  explicit WorkFolder(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

Result<int> Run(const BenchFlags& flags) {
  REPRISE_ASSIGN_OR_RETURN(const auto groups, Choose(flags.groups));
  REPRISE_ASSIGN_OR_RETURN(const WorkFolder folder, WorkFolder::Make());
  std::error_code error;
  const bench::BenchContext context = {.models_folder = ModelsFolder(),
                                       .program = fs::read_symlink("/proc/self/exe", error),
                                       .scenarios = flags.scenarios,
                                       .work_folder = folder.Path()};
  OrderedJson figures = OrderedJson::array();
  bool all_met = true;
  std::FILE* const out = flags.json == "-" ? stderr : stdout;
  for (const bench::FigureGroup* group : groups) {
    REPRISE_RETURN_IF_ERROR(group->measure(context, [&](const bench::Figure& figure) {
      Say(figure, out);
      figures.push_back(ToJson(figure));
      all_met &= figure.IsMet().value_or(true);
    }));
  }
  const std::string text = DumpJson(OrderedJson{{"figures", figures}}, 2) + "\n";
  if (flags.json == "-") {
    fmt::print("{}", text);
  } else if (!flags.json.empty()) {
    REPRISE_RETURN_IF_ERROR(WriteFileAtomically(flags.json, text));
  }
  return all_met ? kSuccess : kFindings;
}

std::function<int()> Declare(CLI::App* app) {
  const auto flags = std::make_shared<BenchFlags>();
  std::string groups = "which figures; all unless named:";
  for (const bench::FigureGroup& group : bench::AllFigureGroups()) {
    groups += fmt::format("\n  {}: {}", group.name, group.help);
  }
  app->add_option("GROUP", flags->groups, groups);
  app->add_option("--scenarios", flags->scenarios, "folder of the scenarios that come with reprise")
      ->capture_default_str();
  app->add_option("--json", flags->json, "write the figures as JSON to this file, or - ");
  return [flags] {
    const Result<int> status = Run(*flags);
    return status ? *status : SayError(status.error());
  };
}

}  // namespace

Command BenchCommand() {
  return {"bench", "measure the figures of docs/benchmarks.md on this machine", Declare};
}

}  // namespace reprise
