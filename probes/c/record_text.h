// Text of one logbook record: a JSON object on one line.
//
// The probe brings its own small writer instead of a JSON library, since it is linked into other
// people's trainers and must write any bytes it is handed, also such as are not UTF-8.

#ifndef REPRISE_PROBES_C_RECORD_TEXT_H_
#define REPRISE_PROBES_C_RECORD_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace reprise::probe {

// Appends `text` as a JSON string with its quotes. A byte that is not part of valid UTF-8 becomes
// the four characters \xNN.
void AppendJsonString(std::string_view text, std::string* out);

// Appends "[1,2,3]".
void AppendJsonIntegers(const std::int64_t* values, std::size_t count, std::string* out);

// "f32:3f800000" and "f64:3ff0000000000000".
std::string BitsText(float value);
std::string BitsText(double value);

// "[\"f64:…\",…]".
std::string JsonBits(const double* values, std::size_t count);

// {"key":"value",…}, ordered by key.
std::string JsonPairs(const std::map<std::string, std::string>& pairs);

// 16 lower-case hexadecimal digits.
std::string HexText(std::uint64_t value);

// Usage: RecordText("step").Integer("step", 3).String("loss", …).Finish().
class RecordText {
 public:
  explicit RecordText(std::string_view type);

  RecordText& Integer(std::string_view name, std::int64_t value);
  RecordText& String(std::string_view name, std::string_view value);
  // `json` is the text of a JSON value.
  RecordText& Json(std::string_view name, std::string_view json);

  // The record with its newline; this object is spent.
  std::string Finish();

 private:
  void Name(std::string_view name);

  std::string text_;
};

}  // namespace reprise::probe

#endif  // REPRISE_PROBES_C_RECORD_TEXT_H_
