#include "harness/model/float_bits.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>

namespace reprise {

FloatBits FloatBits::Of(float value) { return {32, std::bit_cast<std::uint32_t>(value)}; }
FloatBits FloatBits::Of(double value) { return {64, std::bit_cast<std::uint64_t>(value)}; }

std::optional<FloatBits> FloatBits::Parse(std::string_view text) {
  FloatBits result;
  if (text.starts_with("f32:") && text.size() == 12) {
    result.width_bits = 32;
  } else if (text.starts_with("f64:") && text.size() == 20) {
    result.width_bits = 64;
  } else {
    return std::nullopt;
  }
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + 4, end, result.bits, 16);
  if (error != std::errc() || stop != end) {
    return std::nullopt;
  }
  return result;
}

double FloatBits::ToDouble() const {
  if (width_bits == 32) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  }
  return std::bit_cast<double>(bits);
}

std::string FloatBits::ToText() const {
  return width_bits == 32 ? fmt::format("f32:{:08x}", bits) : fmt::format("f64:{:016x}", bits);
}

}  // namespace reprise
