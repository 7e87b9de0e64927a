#include "harness/record/quick_lines.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <system_error>
#include <utility>

namespace reprise {
namespace {

constexpr std::size_t kLaneDigits = 16;

// Takes one thing after the other from the front of a line; each function is false, and the line of
// no more use, where something else stands.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool Take(std::string_view wanted) {
    if (!text_.starts_with(wanted)) {
      return false;
    }
    text_.remove_prefix(wanted.size());
    return true;
  }

  // An integer from 0 that fits, without a leading zero.
  template <typename T>
  bool Number(T* number) {
    const char* const end = text_.data() + text_.size();
    const auto [stop, error] = std::from_chars(text_.data(), end, *number);
    const auto length = static_cast<std::size_t>(stop - text_.data());
    if (error != std::errc() || *text_.data() == '-' || (*text_.data() == '0' && length > 1)) {
      return false;
    }
    text_.remove_prefix(length);
    return true;
  }

  // [1,2,3]
  bool Numbers(Shape* numbers) {
    if (!Take("[")) {
      return false;
    }
    if (Take("]")) {
      return true;
    }
    do {
      if (!Number(&numbers->emplace_back())) {
        return false;
      }
    } while (Take(","));
    return Take("]");
  }

  // 16 lower-case hexadecimal digits.
  bool Lane(std::uint64_t* lane) {
    if (text_.size() < kLaneDigits) {
      return false;
    }
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < kLaneDigits; ++i) {
      const char c = text_[i];
      const bool is_digit = c >= '0' && c <= '9';
      if (!is_digit && (c < 'a' || c > 'f')) {
        return false;
      }
      value = value << 4U | static_cast<std::uint64_t>(is_digit ? c - '0' : c - 'a' + 10);
    }
    *lane = value;
    text_.remove_prefix(kLaneDigits);
    return true;
  }

  // A quoted text of printable ASCII without an escape; the text lies in the line.
  bool Text(std::string_view* text) {
    if (!Take("\"")) {
      return false;
    }
    const auto* const end = std::find_if(text_.begin(), text_.end(), [](char c) {
      return c < 0x20 || c > 0x7E || c == '"' || c == '\\';
    });
    *text = text_.substr(0, static_cast<std::size_t>(end - text_.begin()));
    text_.remove_prefix(text->size());
    return Take("\"");
  }

  // The same as a string of its own.
  bool Text(std::string* text) {
    std::string_view view;
    const bool is_there = Text(&view);
    *text = view;
    return is_there;
  }

  [[nodiscard]] std::string_view Rest() const { return text_; }

 private:
  std::string_view text_;
};

bool ReadTensor(Scanner* scanner, TensorRecord* tensor) {
  std::string_view dtype;
  const bool is_written =
      scanner->Take(R"({"component":)") && scanner->Text(&tensor->component) &&
      scanner->Take(R"(,"kind":)") && scanner->Text(&tensor->kind) &&
      scanner->Take(R"(,"path":)") && scanner->Text(&tensor->path) &&
      scanner->Take(R"(,"dtype":)") && scanner->Text(&dtype) && scanner->Take(R"(,"shape":)") &&
      scanner->Numbers(&tensor->global_shape) && scanner->Take(R"(,"offsets":)") &&
      scanner->Numbers(&tensor->slice.offsets) && scanner->Take(R"(,"extents":)") &&
      scanner->Numbers(&tensor->slice.extents) && scanner->Take(R"(,"replica":[)") &&
      scanner->Number(&tensor->replica_index) && scanner->Take(",") &&
      scanner->Number(&tensor->replica_count) && scanner->Take("]") &&
      (!scanner->Take(R"(,"alias_of":)") || scanner->Text(&tensor->alias_of)) && scanner->Take("}");
  const auto known = is_written ? ParseDType(dtype) : std::nullopt;
  tensor->dtype = known.value_or(DType::kF32);
  return known && ElementCount(tensor->global_shape) &&
         LiesInside(tensor->slice, tensor->global_shape) &&
         tensor->replica_index < tensor->replica_count && tensor->replica_count <= kMaxRank;
}

// [[12,"0123456789abcdef","0123456789abcdef"],…] of distinct numbers.
bool ReadSums(Scanner* scanner, std::map<int, DigestSum>* sums) {
  if (!scanner->Take("[")) {
    return false;
  }
  do {
    int number = 0;
    DigestSum sum;
    if (!scanner->Take("[") || !scanner->Number(&number) || !scanner->Take(",\"") ||
        !scanner->Lane(&sum.a) || !scanner->Take("\",\"") || !scanner->Lane(&sum.b) ||
        !scanner->Take("\"]")) {
      return false;
    }
    const std::size_t before = sums->size();
    sums->emplace_hint(sums->end(), number, sum);
    if (sums->size() == before) {
      return false;
    }
  } while (scanner->Take(","));
  return scanner->Take("]");
}

}  // namespace

std::optional<NamesRecord> ReadNamesLine(std::string_view line) {
  Scanner scanner(line);
  if (!scanner.Take(R"({"t":"names","tensors":[)")) {
    return std::nullopt;
  }
  NamesRecord record;
  do {
    if (!ReadTensor(&scanner, &record.tensors.emplace_back())) {
      return std::nullopt;
    }
  } while (scanner.Take(","));
  return scanner.Rest() == "]}" ? std::optional(std::move(record)) : std::nullopt;
}

std::optional<SplitState> SplitStateLine(std::string_view line) {
  Scanner scanner(line);
  std::string_view reading;
  std::int64_t step = 0;
  if (!scanner.Take(R"({"t":"state","reading":)") || !scanner.Text(&reading) ||
      !scanner.Take(R"(,"step":)") || !scanner.Number(&step) || !scanner.Take(R"(,"tensors":)")) {
    return std::nullopt;
  }
  SplitState split;
  split.line = std::string(line.substr(0, line.size() - scanner.Rest().size()));
  if (!ReadSums(&scanner, &split.sums)) {
    return std::nullopt;
  }
  split.line.append("[]").append(scanner.Rest());
  return split;
}

}  // namespace reprise
