// What `reprise bench` measures, and the list of all of it (docs/benchmarks.md).
//
// Figures are ratios of two things that are measured in one run, in turns, so that a loaded machine
// slows both; the median of the turns is the value. One group of figures is one file and one line
// in figures.inc.

#ifndef REPRISE_BENCHMARKS_FIGURE_H_
#define REPRISE_BENCHMARKS_FIGURE_H_

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.h"

namespace reprise::bench {

// What a value should be.
struct Goal {
  enum class Kind { kNone, kAtLeast, kAtMost };
  Kind kind = Kind::kNone;
  double bound = 0;

  static Goal AtLeast(double bound) { return {Kind::kAtLeast, bound}; }
  static Goal AtMost(double bound) { return {Kind::kAtMost, bound}; }
  [[nodiscard]] std::string ToText() const;  // ">= 0.65", "<= 20"; empty: none
};

struct Figure {
  std::string name;            // "digest.avx2.4-byte"
  std::string unit = "ratio";  // "ratio", "ms", "us", "stops", "s", "bytes"
  Goal goal = {};
  std::optional<double> value = {};
  std::string note = {};  // how it came about; why there is no value

  // Nothing without a value or without a goal.
  [[nodiscard]] std::optional<bool> IsMet() const;
};

struct BenchContext {
  std::filesystem::path models_folder;  // of the reference trainings
  std::filesystem::path program;        // reprise itself
  std::filesystem::path scenarios;      // folder of the scenarios that come with reprise
  std::filesystem::path work_folder;    // exists; for what a measurement writes
};

struct FigureGroup {
  std::string name;  // first word of its figures' names
  std::string help;  // one line
  // One after the other as they are known. An error of the machine ends the group.
  Status (*measure)(const BenchContext& context, const std::function<void(Figure)>& emit) = nullptr;
};

const std::vector<FigureGroup>& AllFigureGroups();

// The middle of the values. REQUIRES: at least one.
double Median(std::vector<double> values);

// Wall time, for what is compared with another one in turns.
double SecondsOf(const std::function<void()>& body);
// CPU time of this thread, for what has a goal in seconds: other load counts less.
double CpuSecondsOf(const std::function<void()>& body);

// A new empty folder `name` in the work folder.
Result<std::filesystem::path> FreshFolder(const BenchContext& context, const std::string& name);

}  // namespace reprise::bench

#endif  // REPRISE_BENCHMARKS_FIGURE_H_
