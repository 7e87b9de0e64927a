// Throughput of the digest over that of a plain read of the same buffer, one core, from memory.
//
// The buffer is far larger than the caches. Element sizes differ in nothing but the digest's
// arithmetic on positions; both are measured, since both have a goal.

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <vector>

#include "benchmarks/figure.h"
#include "probes/c/digest.h"

namespace reprise::bench {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{256} << 20;
constexpr int kTurns = 15;

// A result that the compiler must compute.
volatile std::uint64_t sink = 0;  // NOLINT(readability-identifier-naming)

// Eight independent sums: bound by loads, not by the latency of one addition.
void PlainRead(const std::vector<std::uint64_t>& buffer) {
  std::uint64_t sums[8] = {};
  for (std::size_t i = 0; i + 8 <= buffer.size(); i += 8) {
    for (std::size_t lane = 0; lane < 8; ++lane) {
      sums[lane] += buffer[i + lane];
    }
  }
  sink = sums[0] + sums[1] + sums[2] + sums[3] + sums[4] + sums[5] + sums[6] + sums[7];
}

void Digest(const std::vector<std::uint64_t>& buffer, std::size_t element_size) {
  reprise_digest_sum sum = {};
  reprise_digest_range(&sum, buffer.data(), element_size, 0,
                       buffer.size() * sizeof(std::uint64_t) / element_size);
  sink = sum.a ^ sum.b;
}

Goal GoalOf(reprise_digest_path path, std::size_t element_size) {
  switch (path) {
    case REPRISE_DIGEST_SCALAR:
      break;
    case REPRISE_DIGEST_AVX2:
      return Goal::AtLeast(element_size == 2 ? 0.5 : 0.65);
    case REPRISE_DIGEST_AVX512:
      return Goal::AtLeast(element_size == 2 ? 0.5 : 0.8);
  }
  return {};
}

Figure MeasurePath(const std::vector<std::uint64_t>& buffer, reprise_digest_path path,
                   std::size_t element_size) {
  Figure figure{
      .name = fmt::format("digest.{}.{}-byte", reprise_digest_path_name(path), element_size),
      .goal = GoalOf(path, element_size)};
  const reprise_digest_path before = reprise_digest_current_path();
  if (reprise_digest_set_path(path) != 0) {
    figure.note = "not measured: this CPU lacks the instructions";
    return figure;
  }
  std::vector<double> ratios;
  std::vector<double> seconds;
  for (int turn = 0; turn < kTurns; ++turn) {
    const double read = SecondsOf([&] { PlainRead(buffer); });
    seconds.push_back(SecondsOf([&] { Digest(buffer, element_size); }));
    ratios.push_back(read / seconds.back());
  }
  reprise_digest_set_path(before);
  figure.value = Median(ratios);
  figure.note = fmt::format("{:.1f} GB/s, over a plain read of the same buffer",
                            static_cast<double>(kBufferBytes) * 1e-9 / Median(seconds));
  return figure;
}

Status Measure(const BenchContext&, const std::function<void(Figure)>& emit) {
  const std::vector<std::uint64_t> buffer(kBufferBytes / sizeof(std::uint64_t),
                                          0x3F80000012345678ULL);
  for (const auto path : {REPRISE_DIGEST_SCALAR, REPRISE_DIGEST_AVX2, REPRISE_DIGEST_AVX512}) {
    for (const std::size_t element_size : {4, 2}) {
      emit(MeasurePath(buffer, path, element_size));
    }
  }
  return {};
}

}  // namespace

FigureGroup DigestFigures() {
  return {"digest", "throughput of the digest over that of a plain read from memory", Measure};
}

}  // namespace reprise::bench
