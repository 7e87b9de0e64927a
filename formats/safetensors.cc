#include "formats/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "formats/json_shape.h"
#include "harness/base/json_fields.h"

namespace reprise {
namespace {

constexpr std::int64_t kLengthBytes = 8;
constexpr const char* kMetadata = "__metadata__";

// Size of a tensor in bytes, or nothing when it overflows 63 bits.
std::optional<std::int64_t> DataBytes(DType dtype, const Shape& shape) {
  const std::optional<std::int64_t> count = ElementCount(shape);
  std::int64_t bytes = 0;
  if (!count || __builtin_mul_overflow(*count, SizeOfDType(dtype), &bytes)) {
    return std::nullopt;
  }
  return bytes;
}

// The padding of the format is spaces behind the object, nothing else.
Status CheckEnvelope(std::string_view json, const std::string& where) {
  const std::size_t last = json.find_last_not_of(' ');
  if (json.empty() || json.front() != '{' || last == std::string_view::npos || json[last] != '}') {
    return Fail(ErrorCode::kCorrupt,
                "expected a header of one JSON object, padded with spaces, from byte 8", where);
  }
  return {};
}

Result<std::map<std::string, std::string>> ParseMetadata(const Json& object,
                                                         const std::string& where) {
  std::map<std::string, std::string> metadata;
  if (!object.is_object()) {
    return Fail(ErrorCode::kCorrupt, "expected an object, found " + DescribeJson(object), where);
  }
  for (const auto& [key, value] : object.items()) {
    if (!value.is_string()) {
      return Fail(ErrorCode::kCorrupt, "expected a string, found " + DescribeJson(value),
                  fmt::format("{}.{}", where, Excerpt(key)));
    }
    metadata[key] = value.get<std::string>();
  }
  return metadata;
}

Result<SafetensorsEntry> ParseEntry(const std::string& name, const Json& value,
                                    const std::string& where) {
  JsonFields fields(value, where);
  SafetensorsEntry entry{.name = name};
  entry.dtype = RequiredDType(&fields, "dtype");
  entry.shape = RequiredSizes(&fields, "shape");
  const Shape offsets = RequiredSizes(&fields, "data_offsets");
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    fields.AddError("data_offsets", "expected [begin, end] with begin <= end");
  }
  if (auto status = fields.Finish(); !status) {
    return tl::make_unexpected(AsDamage(std::move(status).error()));
  }
  entry.begin_bytes = offsets[0];
  entry.end_bytes = offsets[1];
  const std::optional<std::int64_t> bytes = DataBytes(entry.dtype, entry.shape);
  if (!bytes || *bytes != entry.end_bytes - entry.begin_bytes) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("the shape and element type do not make the {} bytes of data_offsets",
                            entry.end_bytes - entry.begin_bytes),
                where);
  }
  return entry;
}

// Sorts by position and demands that the data is one piece up to the end of the file.
Status CheckContiguous(std::vector<SafetensorsEntry>* entries, std::int64_t data_bytes,
                       const std::string& where) {
  std::stable_sort(
      entries->begin(), entries->end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
        return std::pair(a.begin_bytes, a.end_bytes) < std::pair(b.begin_bytes, b.end_bytes);
      });
  std::int64_t at = 0;
  for (const SafetensorsEntry& entry : *entries) {
    if (entry.begin_bytes != at) {
      return Fail(ErrorCode::kCorrupt,
                  fmt::format("expected its data at offset {} (no hole, no overlap), found {}", at,
                              entry.begin_bytes),
                  where + ": tensor \"" + Excerpt(entry.name) + "\"");
    }
    at = entry.end_bytes;
  }
  if (at != data_bytes) {
    return Fail(
        ErrorCode::kCorrupt,
        fmt::format("the header describes {} bytes of data, the file has {}", at, data_bytes),
        where);
  }
  return {};
}

}  // namespace

Result<std::int64_t> SafetensorsHeaderLength(std::string_view first_bytes, std::int64_t file_bytes,
                                             const std::string& where) {
  if (first_bytes.size() < kLengthBytes || file_bytes < kLengthBytes) {
    return Fail(ErrorCode::kCorrupt, "shorter than the 8 bytes of the header's length", where);
  }
  std::uint64_t length = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;) {
    length = length << 8U | static_cast<unsigned char>(first_bytes[i]);
  }
  const auto limit =
      static_cast<std::uint64_t>(std::min(kMaxSafetensorsHeaderBytes, file_bytes - kLengthBytes));
  if (length > limit) {
    return Fail(
        ErrorCode::kCorrupt,
        fmt::format("bytes 0 to 7 say that the header has {} bytes, at most {} are possible",
                    length, limit),
        where);
  }
  return static_cast<std::int64_t>(length) + kLengthBytes;
}

Result<SafetensorsHeader> ParseSafetensorsHeader(std::string_view header, std::int64_t file_bytes,
                                                 const std::string& where) {
  SafetensorsHeader result;
  REPRISE_ASSIGN_OR_RETURN(result.length_bytes, SafetensorsHeaderLength(header, file_bytes, where));
  if (static_cast<std::int64_t>(header.size()) != result.length_bytes) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("bytes 0 to 7 say that the header ends at byte {}, expected {}",
                            result.length_bytes, header.size()),
                where);
  }
  header.remove_prefix(kLengthBytes);
  REPRISE_RETURN_IF_ERROR(CheckEnvelope(header, where));
  auto json = ParseJson(header, where);
  if (!json) {
    return tl::make_unexpected(AsDamage(std::move(json).error()));
  }
  for (const auto& [name, value] : json->items()) {
    if (name == kMetadata) {
      REPRISE_ASSIGN_OR_RETURN(result.metadata, ParseMetadata(value, where + ": " + kMetadata));
      continue;
    }
    REPRISE_ASSIGN_OR_RETURN(
        SafetensorsEntry entry,
        ParseEntry(name, value, fmt::format("{}: tensor \"{}\"", where, Excerpt(name))));
    result.entries.push_back(std::move(entry));
  }
  REPRISE_RETURN_IF_ERROR(
      CheckContiguous(&result.entries, file_bytes - result.length_bytes, where));
  return result;
}

Result<std::string> LayOutSafetensors(const std::map<std::string, std::string>& metadata,
                                      std::vector<SafetensorsEntry>* entries) {
  std::sort(entries->begin(), entries->end(),
            [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
              return std::tuple(-SizeOfDType(a.dtype), ToText(a.dtype), std::string_view(a.name)) <
                     std::tuple(-SizeOfDType(b.dtype), ToText(b.dtype), std::string_view(b.name));
            });
  OrderedJson json;
  json[kMetadata] = metadata;
  std::int64_t at = 0;
  for (SafetensorsEntry& entry : *entries) {
    REPRISE_RETURN_IF_ERROR(CheckUtf8(entry.name, "name of a tensor"));
    const std::optional<std::int64_t> bytes = DataBytes(entry.dtype, entry.shape);
    entry.begin_bytes = at;
    if (!bytes || __builtin_add_overflow(at, *bytes, &at)) {
      return Fail(ErrorCode::kInvalidInput, "its size is above 2^63 bytes", entry.name);
    }
    entry.end_bytes = at;
    const auto [unused, is_new] =
        json.emplace(entry.name, OrderedJson{{"dtype", ToText(entry.dtype)},
                                             {"shape", entry.shape},
                                             {"data_offsets", {entry.begin_bytes, at}}});
    if (!is_new) {
      return Fail(ErrorCode::kInvalidInput, "the name is taken: names in a file are distinct",
                  entry.name);
    }
  }
  std::string text = DumpJson(json);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  if (text.size() > static_cast<std::size_t>(kMaxSafetensorsHeaderBytes)) {
    return Fail(ErrorCode::kInvalidInput, "the names and shapes make a header above 100 MB");
  }
  std::string header;
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    header += static_cast<char>(text.size() >> (8 * i) & 0xFFU);
  }
  return header + text;
}

}  // namespace reprise
