#include "harness/base/json_fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <utility>

namespace reprise {
namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxMessageBytes = 2'000;  // of an error about a field

// What the parser reads through, so that we know how far it came: its handler is not told.
class NotingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  NotingIterator(const char* at, const char** furthest) : at_(at), furthest_(furthest) {}
  reference operator*() const { return *at_; }
  NotingIterator& operator++() {
    *furthest_ = ++at_;
    return *this;
  }
  friend bool operator==(const NotingIterator& a, const NotingIterator& b) {
    return a.at_ == b.at_;
  }

 private:
  const char* at_;
  const char** furthest_;
};

std::string LineAndColumn(std::string_view read) {
  const auto line = 1 + std::count(read.begin(), read.end(), '\n');
  const std::size_t newline = read.rfind('\n');
  return fmt::format("line {}, column {}", line,
                     newline == std::string_view::npos ? read.size() : read.size() - newline - 1);
}

// Refuses what nlohmann's own DOM parser lets through: duplicate keys and unbounded nesting (its
// destructor and our walks are recursive).
class StrictHandler : public nlohmann::detail::json_sax_dom_parser<Json> {
 public:
  using Base = nlohmann::detail::json_sax_dom_parser<Json>;
  explicit StrictHandler(Json& result) : Base(result, false) {}

  bool start_object(std::size_t elements) {
    keys_.emplace_back();
    return Enter() && Base::start_object(elements);
  }
  bool end_object() {
    keys_.pop_back();
    --depth_;
    return Base::end_object();
  }
  bool start_array(std::size_t elements) { return Enter() && Base::start_array(elements); }
  bool end_array() {
    --depth_;
    return Base::end_array();
  }
  bool key(Json::string_t& name) {
    if (!keys_.back().insert(name).second) {
      problem_ = fmt::format("the key \"{}\" occurs twice in one object", Excerpt(name));
      return false;
    }
    return Base::key(name);
  }
  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception& exception) {
    parse_error_ = exception.what();
    return Base::parse_error(position, token, exception);
  }

  // What is wrong, with line and column; `read` is the text up to where the parser stopped.
  [[nodiscard]] std::string Problem(std::string_view read) const {
    // "[json.exception.parse_error.101] parse error at line 1, column 3: text"; a number beyond all
    // bounds is reported without its place.
    constexpr std::string_view kAt = "parse error at ";
    if (const auto at = parse_error_.find(kAt); problem_.empty() && at != std::string::npos) {
      return Excerpt(parse_error_.substr(at + kAt.size()), 2 * kMaxQuoteBytes);
    }
    const std::string problem = problem_.empty() ? parse_error_ : problem_;
    return LineAndColumn(read) + ": " + Excerpt(problem, 2 * kMaxQuoteBytes);
  }

 private:
  bool Enter() {
    if (++depth_ > kMaxDepth) {
      problem_ = fmt::format("nested deeper than {} levels", kMaxDepth);
      return false;
    }
    return true;
  }

  std::vector<std::set<std::string>> keys_;
  std::size_t depth_ = 0;
  std::string parse_error_;
  std::string problem_;  // ours
};

std::size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j - 1] + 1, above + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string Excerpt(std::string text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) {
    return text;
  }
  std::size_t end = max_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) {
    --end;  // not inside a character
  }
  return fmt::format("{}… ({} bytes)", text.substr(0, end), text.size());
}

Result<Json> ParseJson(std::string_view text, const std::string& where) {
  Json result;
  StrictHandler handler(result);
  const char* const begin = text.data();
  const char* furthest = begin;
  if (Json::sax_parse(NotingIterator(begin, &furthest),
                      NotingIterator(begin + text.size(), &furthest), &handler)) {
    return result;
  }
  const auto read_bytes = static_cast<std::size_t>(furthest - begin);
  return Fail(ErrorCode::kInvalidInput,
              "not valid JSON: " + handler.Problem(text.substr(0, read_bytes)), where);
}

std::string DumpJson(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

std::string DumpJson(const OrderedJson& value, int indent) {
  return value.dump(indent, ' ', false, OrderedJson::error_handler_t::replace);
}

std::optional<std::string> NearestWord(std::string_view word,
                                       const std::vector<std::string>& known) {
  std::optional<std::string> best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const std::size_t longer = std::max(word.size(), candidate.size());
    const std::size_t shorter = std::min(word.size(), candidate.size());
    if (longer - shorter >= best_distance) {
      continue;  // at least as far; a foreign word may be megabytes
    }
    const std::size_t distance = EditDistance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string DescribeJson(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "an array";
    case Json::value_t::string:
      return fmt::format("the string \"{}\"", Excerpt(value.get<std::string>()));
    case Json::value_t::boolean:
      return value.get<bool>() ? "true" : "false";
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      return "the integer " + DumpJson(value);
    case Json::value_t::number_float:
      return "the number " + DumpJson(value);
    case Json::value_t::binary:
    case Json::value_t::discarded:
      break;
  }
  return "something else";
}

JsonFields::JsonFields(const Json& value, std::string where)
    : value_(&value), where_(std::move(where)) {
  if (!value.is_object()) {
    error_ =
        Error{ErrorCode::kInvalidInput, "expected an object, found " + DescribeJson(value), where_};
  }
}

std::string JsonFields::WhereField(const char* name) const {
  // "file.json" + field -> "file.json: field"; "file.json: a[0]" + field -> "file.json: a[0].field"
  return where_ + (where_.find(": ") == std::string::npos ? ": " : ".") +
         (*name == '\0' ? "\"\"" : Excerpt(name));
}

void JsonFields::AddError(const char* name, std::string message) {
  if (!error_) {
    error_ = Error{ErrorCode::kInvalidInput, Excerpt(std::move(message), kMaxMessageBytes),
                   WhereField(name)};
  }
}

void JsonFields::AddMissing(const char* name, std::string message) {
  if (!missing_) {
    missing_ = Error{ErrorCode::kInvalidInput, std::move(message), WhereField(name)};
  }
}

const Json* JsonFields::Find(const char* name, bool required) {
  if (std::find(asked_.begin(), asked_.end(), name) == asked_.end()) {
    asked_.emplace_back(name);
  }
  if (!value_->is_object()) {
    return nullptr;
  }
  const auto found = value_->find(name);
  if (found != value_->end()) {
    return &*found;
  }
  if (required) {
    AddMissing(name, "this field is required");
  }
  return nullptr;
}

std::string JsonFields::RequiredString(const char* name) {
  const Json* field = Find(name, true);
  if (field != nullptr && !field->is_string()) {
    AddError(name, "expected a string, found " + DescribeJson(*field));
  }
  return field != nullptr && field->is_string() ? field->get<std::string>() : std::string();
}

std::string JsonFields::OptionalString(const char* name, std::string fallback) {
  const Json* field = Find(name, false);
  if (field == nullptr) {
    return fallback;
  }
  if (!field->is_string()) {
    AddError(name, "expected a string, found " + DescribeJson(*field));
    return fallback;
  }
  return field->get<std::string>();
}

std::int64_t JsonFields::RequiredInteger(const char* name, std::int64_t min, std::int64_t max) {
  if (Find(name, true) == nullptr) {
    return min;
  }
  return OptionalInteger(name, min, min, max);
}

std::int64_t JsonFields::OptionalInteger(const char* name, std::int64_t fallback, std::int64_t min,
                                         std::int64_t max) {
  const Json* field = Find(name, false);
  if (field == nullptr) {
    return fallback;
  }
  const bool is_integer = field->is_number_integer();
  const bool fits = is_integer && !(field->is_number_unsigned() &&
                                    field->get<std::uint64_t>() > std::uint64_t{INT64_MAX});
  if (!fits || field->get<std::int64_t>() < min || field->get<std::int64_t>() > max) {
    AddError(name, fmt::format("expected an integer from {} to {}, found {}", min, max,
                               DescribeJson(*field)));
    return fallback;
  }
  return field->get<std::int64_t>();
}

bool JsonFields::OptionalBool(const char* name, bool fallback) {
  const Json* field = Find(name, false);
  if (field == nullptr) {
    return fallback;
  }
  if (!field->is_boolean()) {
    AddError(name, "expected true or false, found " + DescribeJson(*field));
    return fallback;
  }
  return field->get<bool>();
}

const Json* JsonFields::Optional(const char* name) { return Find(name, false); }

const Json* JsonFields::RequiredArray(const char* name) {
  const Json* field = Find(name, true);
  if (field != nullptr && !field->is_array()) {
    AddError(name, "expected an array, found " + DescribeJson(*field));
    return nullptr;
  }
  return field;
}

const Json* JsonFields::RequiredObject(const char* name) {
  const Json* field = Find(name, true);
  if (field != nullptr && !field->is_object()) {
    AddError(name, "expected an object, found " + DescribeJson(*field));
    return nullptr;
  }
  return field;
}

std::vector<std::string> JsonFields::OptionalStrings(const char* name) {
  std::vector<std::string> strings;
  const Json* field = Find(name, false);
  if (field == nullptr) {
    return strings;
  }
  if (!field->is_array()) {
    AddError(name, "expected an array of strings, found " + DescribeJson(*field));
    return strings;
  }
  for (std::size_t i = 0; i < field->size(); ++i) {
    const Json& element = (*field)[i];
    if (!element.is_string()) {
      AddError(fmt::format("{}[{}]", name, i).c_str(),
               "expected a string, found " + DescribeJson(element));
      return strings;
    }
    strings.push_back(element.get<std::string>());
  }
  return strings;
}

Status JsonFields::FinishAllowingUnknown() const {
  if (error_ || missing_) {
    return tl::make_unexpected(error_ ? *error_ : *missing_);
  }
  return {};
}

Status JsonFields::Finish() const {
  if (error_) {
    return tl::make_unexpected(*error_);
  }
  // Before a missing field: a misspelt name is both, and the misspelling is what the user can mend.
  for (const auto& [key, unused] : value_->items()) {
    if (std::find(asked_.begin(), asked_.end(), key) != asked_.end()) {
      continue;
    }
    std::string message = "unknown field";
    if (const auto nearest = NearestWord(key, asked_)) {
      message += fmt::format("; did you mean \"{}\"?", *nearest);
    } else {
      message += fmt::format("; known here: {}", fmt::join(asked_, ", "));
    }
    return Fail(ErrorCode::kInvalidInput, message, WhereField(key.c_str()));
  }
  return FinishAllowingUnknown();
}

}  // namespace reprise
