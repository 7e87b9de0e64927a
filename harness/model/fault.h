// A fault as data: which injector, with which parameters.

#ifndef REPRISE_HARNESS_MODEL_FAULT_H_
#define REPRISE_HARNESS_MODEL_FAULT_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace reprise {

// Parameter values are text, already validated against the plug-in's ParamSpecs.
struct Fault {
  std::string kind;  // name of an injector: "kill.operation"
  int attempt = 0;   // the life in which, or after which, it acts; 0 is the first
  std::map<std::string, std::string> params = {};

  friend bool operator==(const Fault&, const Fault&) = default;
};

enum class ParamType { kInteger, kEnum, kText };

// What the values of a parameter refer to: lets a plan check them against a run and enumerate
// "all".
enum class ParamDomain {
  kPlain,
  kRank,       // a rank, also inside a choice ("rank:1"); -1 and other choices mean no single one
  kStep,       // completed optimizer steps
  kOperation,  // rank/save/n address of a file operation
  kRecord,     // ordinal of a logbook record of the rank that the fault names
};

// How a plug-in describes one parameter; scenario loader, `reprise list`, docs and reports read it.
struct ParamSpec {
  std::string name;
  std::string help;  // with the unit: "completed optimizer steps"
  ParamType type = ParamType::kInteger;
  std::string fallback = {};  // empty: the parameter is required
  long long min = 0;          // of kInteger
  long long max = 1'000'000'000;
  std::vector<std::string> choices = {};  // of kEnum; one that ends in ":" takes an integer >= 0
  ParamDomain domain = ParamDomain::kPlain;
};

}  // namespace reprise

#endif  // REPRISE_HARNESS_MODEL_FAULT_H_
