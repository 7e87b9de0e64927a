// Parameter values of faults: their text, their types, their one spelling.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <optional>

#include "harness/base/check.h"
#include "injectors/injector.h"
#include "injectors/kill.h"

namespace reprise {
namespace {

constexpr std::int64_t kMaxChoiceInteger = 1'000'000'000;  // of "rank:N", "bytes:N", "micro:N"

std::optional<std::int64_t> ParseInteger(std::string_view text) {
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stop != end) {
    return std::nullopt;
  }
  return value;
}

Result<std::string> CanonicalInteger(const ParamSpec& spec, std::string_view text) {
  const auto value = ParseInteger(text);
  if (!value || *value < spec.min || *value > spec.max) {
    return Fail(ErrorCode::kInvalidInput,
                fmt::format("expected an integer from {} to {} ({}), found \"{}\"", spec.min,
                            spec.max, spec.help, text));
  }
  return std::to_string(*value);
}

// The text of `choice` with the integer that follows it, when `text` is that.
std::optional<std::string> MatchChoice(std::string_view choice, std::string_view text) {
  if (!choice.ends_with(':')) {
    return choice == text ? std::optional<std::string>(text) : std::nullopt;
  }
  if (!text.starts_with(choice)) {
    return std::nullopt;
  }
  const auto value = ParseInteger(text.substr(choice.size()));
  if (!value || *value < 0 || *value > kMaxChoiceInteger) {
    return std::nullopt;
  }
  return std::string(choice) + std::to_string(*value);
}

Result<std::string> CanonicalChoice(const ParamSpec& spec, std::string_view text) {
  std::vector<std::string> right;
  for (const std::string& choice : spec.choices) {
    if (auto value = MatchChoice(choice, text)) {
      return *std::move(value);
    }
    right.push_back(choice.ends_with(':') ? choice + "N" : choice);
  }
  return Fail(ErrorCode::kInvalidInput,
              fmt::format("expected one of {}, found \"{}\"", fmt::join(right, ", "), text));
}

}  // namespace

Result<std::string> CanonicalValue(const ParamSpec& spec, std::string_view text) {
  if (spec.domain == ParamDomain::kOperation) {
    REPRISE_ASSIGN_OR_RETURN(const OperationAddress address, OperationAddress::Parse(text));
    return address.ToText();
  }
  switch (spec.type) {
    case ParamType::kInteger:
      return CanonicalInteger(spec, text);
    case ParamType::kEnum:
      return CanonicalChoice(spec, text);
    case ParamType::kText:
      break;
  }
  if (text.empty()) {
    return Fail(ErrorCode::kInvalidInput, "expected a text that is not empty: " + spec.help);
  }
  return std::string(text);
}

std::int64_t Params::Integer(const std::string& name) const {
  const auto value = ParseInteger(Text(name));
  REPRISE_CHECK(value.has_value(), name + " = " + Text(name));
  return *value;
}

const std::string& Params::Text(const std::string& name) const {
  const auto found = values_.find(name);
  REPRISE_CHECK(found != values_.end(), name);
  return found->second;
}

Result<CutPoint> CutPoint::Parse(std::string_view text) {
  if (text == "before") {
    return CutPoint{};
  }
  if (text == "after") {
    return CutPoint{Kind::kAfter, 0};
  }
  if (const auto bytes = MatchChoice("bytes:", text)) {
    return CutPoint{Kind::kBytes, *ParseInteger(bytes->substr(std::string_view("bytes:").size()))};
  }
  return Fail(ErrorCode::kInvalidInput,
              fmt::format("expected before, after or bytes:N, found \"{}\"", text));
}

std::string CutPoint::ToText() const {
  switch (kind) {
    case Kind::kBefore:
      return "before";
    case Kind::kAfter:
      return "after";
    case Kind::kBytes:
      break;
  }
  return fmt::format("bytes:{}", bytes);
}

std::int64_t NumberAfterColon(const std::string& text) {
  const auto value = ParseInteger(std::string_view(text).substr(text.find(':') + 1));
  REPRISE_CHECK(value.has_value(), text);
  return *value;
}

}  // namespace reprise
