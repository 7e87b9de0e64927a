// The one generator of pseudo-random numbers: passed down, never global.
//
// A plan is a pure function of (scenario, seed, reference), so std::uniform_int_distribution, whose
// results differ between standard libraries, is not used.

#ifndef REPRISE_HARNESS_BASE_RANDOM_H_
#define REPRISE_HARNESS_BASE_RANDOM_H_

#include <cstdint>
#include <string_view>

namespace reprise {

// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t Next() {
    state_ += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

  // Uniform in [0, bound), without modulo bias. REQUIRES: bound > 0.
  std::uint64_t Below(std::uint64_t bound) {
    const std::uint64_t limit = UINT64_MAX - UINT64_MAX % bound;
    std::uint64_t value = Next();
    while (value >= limit) {
      value = Next();
    }
    return value % bound;
  }

  // An independent generator for a named purpose, so that a draw added in one place does not change
  // the draws of another. Does not advance this one.
  [[nodiscard]] Random Split(std::string_view purpose) const {
    std::uint64_t hash = 0xCBF29CE484222325ULL;  // FNV-1a
    for (const char c : purpose) {
      hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
    }
    Random child(state_ ^ hash);
    child.Next();
    return child;
  }

 private:
  std::uint64_t state_;
};

}  // namespace reprise

#endif  // REPRISE_HARNESS_BASE_RANDOM_H_
