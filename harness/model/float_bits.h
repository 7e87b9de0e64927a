// A floating-point value as its bits: what is compared is never rounded, and NaN payloads count.

#ifndef REPRISE_HARNESS_MODEL_FLOAT_BITS_H_
#define REPRISE_HARNESS_MODEL_FLOAT_BITS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace reprise {

// Text form, as in logbooks: "f32:3f800000" or "f64:3ff0000000000000".
struct FloatBits {
  int width_bits = 32;  // 32 or 64
  std::uint64_t bits = 0;

  static FloatBits Of(float value);
  static FloatBits Of(double value);
  // Nothing when `text` is not of the text form.
  static std::optional<FloatBits> Parse(std::string_view text);

  [[nodiscard]] double ToDouble() const;
  [[nodiscard]] std::string ToText() const;

  friend bool operator==(const FloatBits&, const FloatBits&) = default;
};

}  // namespace reprise

#endif  // REPRISE_HARNESS_MODEL_FLOAT_BITS_H_
