#include "harness/plan/placeholders.h"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/check.h"
#include "harness/plan/fault_loader.h"

namespace reprise {
namespace {

// A piece of an argument: plain text, or a name that stood in single braces.
struct Piece {
  std::string_view text;
  bool is_name = false;
};

bool IsNameCharacter(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }

// The length of `{name}` at the start of `text`; 0: something else stands there.
std::size_t BracedLength(std::string_view text) {
  if (text.empty() || text.front() != '{') {
    return 0;
  }
  const auto* const close = std::find_if_not(text.begin() + 1, text.end(), IsNameCharacter);
  const auto length = static_cast<std::size_t>(close - text.begin()) + 1;
  return close != text.end() && *close == '}' && length > 2 ? length : 0;
}

std::vector<Piece> Split(std::string_view argument) {
  std::vector<Piece> pieces;
  std::size_t at = 0;
  std::size_t text_from = 0;
  const auto add = [&](std::size_t text_to, Piece piece, std::size_t next) {
    pieces.push_back({argument.substr(text_from, text_to - text_from)});
    pieces.push_back(piece);
    at = text_from = next;
  };
  while (at < argument.size()) {
    const std::string_view rest = argument.substr(at);
    if (const std::size_t inner = BracedLength(rest.substr(1));
        rest.front() == '{' && inner > 0 && rest.substr(1 + inner, 1) == "}") {
      add(at, {rest.substr(1, inner)}, at + inner + 2);
    } else if (const std::size_t length = BracedLength(rest);
               length > 0 && (at == 0 || argument[at - 1] != '$')) {
      add(at, {rest.substr(1, length - 2), true}, at + length);
    } else {
      ++at;
    }
  }
  pieces.push_back({argument.substr(text_from)});
  return pieces;
}

}  // namespace

const std::vector<std::string>& PlaceholderNames() {
  static const std::vector<std::string> names = {"ckpt", "rank",    "world",  "steps",
                                                 "seed", "attempt", "device", "models"};
  return names;
}

Status CheckPlaceholders(std::string_view argument) {
  const std::vector<std::string>& known = PlaceholderNames();
  for (const Piece& piece : Split(argument)) {
    const std::string name(piece.text);
    if (piece.is_name && std::find(known.begin(), known.end(), name) == known.end()) {
      return Fail(ErrorCode::kInvalidInput,
                  fmt::format("unknown placeholder {{{}}}{}; {{{{{}}}}} stands for the text itself",
                              name, DidYouMean(name, known), name));
    }
  }
  return {};
}

std::string ReplacePlaceholders(std::string_view argument,
                                const std::map<std::string, std::string>& values) {
  std::string result;
  for (const Piece& piece : Split(argument)) {
    if (piece.is_name) {
      const auto value = values.find(std::string(piece.text));
      REPRISE_CHECK(value != values.end(), std::string(piece.text));
      result += value->second;
    } else {
      result += piece.text;
    }
  }
  return result;
}

}  // namespace reprise
