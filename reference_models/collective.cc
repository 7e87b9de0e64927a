#include "reference_models/collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace reprise::models {

Result<std::vector<std::string>> AllGatherTexts(Collective& collective, std::string_view mine) {
  if (collective.World() == 1) return std::vector<std::string>{std::string(mine)};
  const std::uint64_t my_size = mine.size();
  std::string size_text(sizeof(my_size), '\0');
  std::memcpy(size_text.data(), &my_size, sizeof(my_size));
  REPRISE_ASSIGN_OR_RETURN(const auto size_texts, collective.AllGather(size_text));
  std::vector<std::uint64_t> sizes(size_texts.size());
  for (std::size_t r = 0; r < sizes.size(); ++r) {
    std::memcpy(&sizes[r], size_texts[r].data(), sizeof(sizes[r]));
  }
  std::string padded(mine);
  padded.resize(*std::max_element(sizes.begin(), sizes.end()));
  if (padded.empty()) return std::vector<std::string>(sizes.size());
  REPRISE_ASSIGN_OR_RETURN(auto texts, collective.AllGather(padded));
  for (std::size_t r = 0; r < sizes.size(); ++r) {
    texts[r].resize(sizes[r]);
  }
  return texts;
}

Status AgreeOn(Collective& collective, const Status& mine) {
  if (collective.World() == 1) return mine;
  const std::string text = mine ? std::string() : "!" + mine.error().ToString();
  REPRISE_ASSIGN_OR_RETURN(const auto texts, AllGatherTexts(collective, text));
  for (std::size_t r = 0; r < texts.size(); ++r) {
    if (texts[r].empty()) continue;
    return Fail(ErrorCode::kCorrupt, fmt::format("rank {}: {}", r, texts[r].substr(1)));
  }
  return {};
}

}  // namespace reprise::models
