// Throughput of the digest as a ratio to a plain read of the same buffer (docs/logbook.md,
// "Digest").
//
// A loaded machine makes both slow, so digest and read are timed in turns and the minima are
// compared. One line per path and element width; the buffer is far larger than the caches, so
// "memory" is what is measured. "cache" repeats a buffer of 128 KiB and gives GB/s alone.
//
//   digest_bench [MiB of the buffer, default 256] [rounds, default 9]

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <vector>

#include "probes/c/digest.h"

namespace {

using Clock = std::chrono::steady_clock;

// A result that the compiler must compute.
volatile std::uint64_t sink = 0;  // NOLINT(readability-identifier-naming)

double SecondsOf(const auto& body) {
  const auto begin = Clock::now();
  body();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

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
  reprise_digest_range(&sum, buffer.data(), element_size, 0, buffer.size() * 8 / element_size);
  sink = sum.a ^ sum.b;
}

void FromMemory(const std::vector<std::uint64_t>& buffer, std::size_t element_size, int rounds) {
  double read_s = std::numeric_limits<double>::max();
  double digest_s = std::numeric_limits<double>::max();
  for (int round = 0; round < rounds; ++round) {
    read_s = std::min(read_s, SecondsOf([&] { PlainRead(buffer); }));
    digest_s = std::min(digest_s, SecondsOf([&] { Digest(buffer, element_size); }));
  }
  const double giga = static_cast<double>(buffer.size()) * 8e-9;
  fmt::print("{:>7} memory {} bytes: digest {:6.2f} GB/s, read {:6.2f} GB/s, ratio {:.2f}\n",
             reprise_digest_path_name(reprise_digest_current_path()), element_size, giga / digest_s,
             giga / read_s, read_s / digest_s);
}

void FromCache(int rounds) {
  const std::vector<std::uint64_t> buffer(16 << 10, 0x0123456789ABCDEFULL);
  constexpr int kRepeats = 400;
  double digest_s = std::numeric_limits<double>::max();
  for (int round = 0; round < rounds; ++round) {
    digest_s = std::min(digest_s, SecondsOf([&] {
                          for (int n = 0; n < kRepeats; ++n) {
                            Digest(buffer, 4);
                          }
                        }));
  }
  fmt::print("{:>7} cache  4 bytes: digest {:6.2f} GB/s\n",
             reprise_digest_path_name(reprise_digest_current_path()),
             static_cast<double>(buffer.size()) * 8e-9 * kRepeats / digest_s);
}

}  // namespace

int main(int argc, char** argv) {
  const long mebibytes = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 256;
  const long rounds = argc > 2 ? std::strtol(argv[2], nullptr, 10) : 9;
  if (mebibytes < 1 || mebibytes > 65536 || rounds < 1 || rounds > 1000) {
    fmt::print(stderr, "usage: digest_bench [MiB, 1 to 65536] [rounds, 1 to 1000]\n");
    return 2;
  }
  const std::vector<std::uint64_t> buffer(static_cast<std::size_t>(mebibytes) << 17,
                                          0x3F80000012345678ULL);
  for (const auto path : {REPRISE_DIGEST_SCALAR, REPRISE_DIGEST_AVX2, REPRISE_DIGEST_AVX512}) {
    if (reprise_digest_set_path(path) != 0) {
      fmt::print("{:>7} is not possible on this CPU\n", reprise_digest_path_name(path));
      continue;
    }
    FromMemory(buffer, 4, static_cast<int>(rounds));
    FromMemory(buffer, 2, static_cast<int>(rounds));
    FromCache(static_cast<int>(rounds));
  }
  return 0;
}
