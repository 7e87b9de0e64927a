#include "harness/judge/value_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>

namespace reprise {

std::string Show(const FloatBits& value) {
  return fmt::format("{} ({})", value.ToDouble(), value.ToText());
}

std::string Show(const std::vector<FloatBits>& values) {
  std::vector<std::string> texts;
  texts.reserve(values.size());
  for (const FloatBits& value : values) {
    texts.push_back(Show(value));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string Show(const std::vector<std::int64_t>& ids) {
  constexpr std::size_t kShown = 8;
  const std::vector<std::int64_t> head(
      ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(std::min(ids.size(), kShown)));
  return fmt::format("{}{}", fmt::join(head, " "), ids.size() > kShown ? " …" : "");
}

std::string Describe(const TensorRecord& record) {
  return fmt::format("{} [{}]", ToText(record.dtype), fmt::join(record.global_shape, ", "));
}

std::string DescribeAlias(const std::string& alias_of) {
  return alias_of.empty() ? "its own storage" : "shares the storage of " + alias_of;
}

}  // namespace reprise
