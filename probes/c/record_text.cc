#include "probes/c/record_text.h"

#include <array>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <utility>

namespace reprise::probe {
namespace {

// Length of the valid UTF-8 sequence at the beginning of `text`, or 0 (Unicode 15, table 3-7: no
// overlong form, no surrogate, nothing above U+10FFFF).
std::size_t Utf8Length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) {
    return 1;
  }
  const std::size_t length = lead >= 0xC2 && lead <= 0xDF   ? 2
                             : lead >= 0xE0 && lead <= 0xEF ? 3
                             : lead >= 0xF0 && lead <= 0xF4 ? 4
                                                            : 0;
  if (length == 0 || text.size() < length) {
    return 0;
  }
  for (std::size_t i = 1; i < length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) {
      return 0;
    }
  }
  const bool out_of_range = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) > 0x9F) ||
                            (lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) > 0x8F);
  return out_of_range ? 0 : length;
}

// Length of the beginning of `text` that stands in a JSON string as it is.
std::size_t PlainLength(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && static_cast<signed char>(text[length]) >= 0x20 &&
         text[length] != '"' && text[length] != '\\') {
    ++length;
  }
  return length;
}

template <typename... Arguments>
std::string Format(const char* format, Arguments... arguments) {
  std::array<char, 32> text = {};
  std::snprintf(text.data(), text.size(), format, arguments...);
  return text.data();
}

}  // namespace

void AppendJsonString(std::string_view text, std::string* out) {
  out->push_back('"');
  for (;;) {
    const std::size_t plain = PlainLength(text);
    out->append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) {
      break;
    }
    const auto byte = static_cast<unsigned char>(text[0]);
    const std::size_t length = Utf8Length(text);
    if (length == 0) {
      out->append(Format("\\\\x%02x", static_cast<unsigned>(byte)));
    } else if (byte == '"' || byte == '\\') {
      out->push_back('\\');
      out->push_back(text[0]);
    } else if (byte < 0x20) {
      out->append(Format("\\u%04x", static_cast<unsigned>(byte)));
    } else {
      out->append(text.substr(0, length));
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  out->push_back('"');
}

void AppendJsonIntegers(const std::int64_t* values, std::size_t count, std::string* out) {
  out->push_back('[');
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) {
      out->push_back(',');
    }
    out->append(std::to_string(values[i]));
  }
  out->push_back(']');
}

std::string BitsText(float value) {
  return Format("f32:%08" PRIx32, std::bit_cast<std::uint32_t>(value));
}

std::string BitsText(double value) {
  return Format("f64:%016" PRIx64, std::bit_cast<std::uint64_t>(value));
}

std::string JsonBits(const double* values, std::size_t count) {
  std::string out = "[";
  for (std::size_t i = 0; i < count; ++i) {
    out += (i == 0 ? "\"" : ",\"") + BitsText(values[i]) + "\"";
  }
  return out + "]";
}

std::string JsonPairs(const std::map<std::string, std::string>& pairs) {
  std::string out = "{";
  for (const auto& [key, value] : pairs) {
    if (out.size() > 1) {
      out += ",";
    }
    AppendJsonString(key, &out);
    out += ":";
    AppendJsonString(value, &out);
  }
  return out + "}";
}

std::string HexText(std::uint64_t value) { return Format("%016" PRIx64, value); }

RecordText::RecordText(std::string_view type) : text_("{\"t\":") { AppendJsonString(type, &text_); }

RecordText& RecordText::Integer(std::string_view name, std::int64_t value) {
  Name(name);
  text_.append(std::to_string(value));
  return *this;
}

RecordText& RecordText::String(std::string_view name, std::string_view value) {
  Name(name);
  AppendJsonString(value, &text_);
  return *this;
}

RecordText& RecordText::Json(std::string_view name, std::string_view json) {
  Name(name);
  text_.append(json);
  return *this;
}

std::string RecordText::Finish() {
  text_.append("}\n");
  return std::move(text_);
}

void RecordText::Name(std::string_view name) {
  text_.push_back(',');
  AppendJsonString(name, &text_);
  text_.push_back(':');
}

}  // namespace reprise::probe
