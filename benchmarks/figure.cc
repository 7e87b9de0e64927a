#include "benchmarks/figure.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>

#include "harness/base/check.h"
#include "harness/base/files.h"

namespace reprise::bench {

#define REPRISE_FIGURES(Name) FigureGroup Name##Figures();
#include "benchmarks/figures.inc"
#undef REPRISE_FIGURES

const std::vector<FigureGroup>& AllFigureGroups() {
  static const std::vector<FigureGroup> all = {
#define REPRISE_FIGURES(Name) Name##Figures(),
#include "benchmarks/figures.inc"
#undef REPRISE_FIGURES
  };
  return all;
}

std::string Goal::ToText() const {
  switch (kind) {
    case Kind::kNone:
      break;
    case Kind::kAtLeast:
      return fmt::format(">= {:g}", bound);
    case Kind::kAtMost:
      return fmt::format("<= {:g}", bound);
  }
  return {};
}

std::optional<bool> Figure::IsMet() const {
  if (!value) {
    return std::nullopt;
  }
  switch (goal.kind) {
    case Goal::Kind::kNone:
      break;
    case Goal::Kind::kAtLeast:
      return *value >= goal.bound;
    case Goal::Kind::kAtMost:
      return *value <= goal.bound;
  }
  return std::nullopt;
}

double Median(std::vector<double> values) {
  REPRISE_CHECK(!values.empty(), "no values");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double SecondsOf(const std::function<void()>& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double CpuSecondsOf(const std::function<void()>& body) {
  const auto now = [] {
    timespec time = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  };
  const double begin = now();
  body();
  return now() - begin;
}

Result<std::filesystem::path> FreshFolder(const BenchContext& context, const std::string& name) {
  const std::filesystem::path folder = context.work_folder / name;
  REPRISE_RETURN_IF_ERROR(RemoveTree(folder));
  REPRISE_RETURN_IF_ERROR(MakeFolders(folder));
  return folder;
}

}  // namespace reprise::bench
