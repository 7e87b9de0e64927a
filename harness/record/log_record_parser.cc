// One line of a logbook as a record: strict in types and ranges, open for fields that we do not
// know.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/json_fields.h"
#include "harness/record/logbook_reader.h"
#include "harness/record/quick_lines.h"

namespace reprise {
namespace {

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMaxStep = 1'000'000'000'000'000;  // leaves room to count on from it
constexpr std::int64_t kMaxTensorNumber = std::numeric_limits<int>::max();
constexpr char kSchema[] = "reprise.logbook/1";

// Getters below keep the first error in `fields` and then return a default, as JsonFields does.

std::int64_t Step(JsonFields* fields) { return fields->RequiredInteger("step", 0, kMaxStep); }

// The number of the first 16 digits; longer texts are only checked.
std::optional<std::uint64_t> ParseHex(std::string_view text, std::size_t digits) {
  const bool is_hex =
      text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (!is_hex) {
    return std::nullopt;
  }
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + std::min<std::size_t>(digits, 16), number, 16);
  return number;
}

FloatBits Float(JsonFields* fields, const char* name) {
  const std::string text = fields->RequiredString(name);
  const auto value = FloatBits::Parse(text);
  if (!value) {
    fields->AddError(name, fmt::format("expected the bits of a float, as in \"f32:3f800000\", "
                                       "found \"{}\"",
                                       text));
  }
  return value.value_or(FloatBits{});
}

std::vector<FloatBits> Floats(JsonFields* fields, const char* name) {
  std::vector<FloatBits> values;
  fields->RequiredArray(name);
  for (const std::string& text : fields->OptionalStrings(name)) {
    const auto value = FloatBits::Parse(text);
    if (!value) {
      fields->AddError(name, fmt::format("expected the bits of floats, found \"{}\"", text));
      return values;
    }
    values.push_back(*value);
  }
  return values;
}

std::vector<std::int64_t> Integers(JsonFields* fields, const char* name, std::int64_t min) {
  std::vector<std::int64_t> values;
  const Json* const array = fields->RequiredArray(name);
  if (array == nullptr) {
    return values;
  }
  for (const Json& element : *array) {
    const bool fits = element.is_number_integer() &&
                      !(element.is_number_unsigned() &&
                        element.get<std::uint64_t>() > static_cast<std::uint64_t>(kMax));
    if (!fits || element.get<std::int64_t>() < min) {
      fields->AddError(name, fmt::format("expected integers from {} to {}, found {}", min, kMax,
                                         DescribeJson(element)));
      return values;
    }
    values.push_back(element.get<std::int64_t>());
  }
  return values;
}

std::map<std::string, std::string> StringMap(JsonFields* fields, const char* name) {
  std::map<std::string, std::string> map;
  const Json* const object = fields->RequiredObject(name);
  if (object == nullptr) {
    return map;
  }
  for (const auto& [key, value] : object->items()) {
    if (!value.is_string()) {
      fields->AddError(
          name, fmt::format("expected a string for \"{}\", found {}", key, DescribeJson(value)));
      return map;
    }
    map[key] = value.get<std::string>();
  }
  return map;
}

LogRecord ReadStart(JsonFields* fields) {
  const std::string schema = fields->RequiredString("schema");
  if (schema != kSchema) {
    fields->AddError("schema", fmt::format("expected \"{}\", found \"{}\"; was the logbook written "
                                           "by another version of the probe?",
                                           kSchema, schema));
  }
  StartRecord record;
  record.world = static_cast<int>(fields->RequiredInteger("world", 1, kMaxRank));
  record.rank = static_cast<int>(fields->RequiredInteger("rank", 0, record.world - 1));
  record.attempt = static_cast<int>(fields->RequiredInteger("attempt", 0, kMaxRank));
  record.environment = StringMap(fields, "environment");
  return record;
}

void ReadReplica(JsonFields* fields, TensorRecord* tensor) {
  const std::vector<std::int64_t> replica = Integers(fields, "replica", 0);
  if (replica.size() != 2 || replica[0] >= replica[1] || replica[1] > kMaxRank) {
    fields->AddError("replica", "expected [index, count] with 0 <= index < count");
    return;
  }
  tensor->replica_index = static_cast<int>(replica[0]);
  tensor->replica_count = static_cast<int>(replica[1]);
}

TensorRecord ReadTensor(JsonFields* fields) {
  TensorRecord tensor;
  tensor.component = fields->RequiredString("component");
  tensor.kind = fields->RequiredString("kind");
  tensor.path = fields->RequiredString("path");
  const std::string dtype = fields->RequiredString("dtype");
  if (const auto known = ParseDType(dtype)) {
    tensor.dtype = *known;
  } else {
    fields->AddError("dtype", fmt::format("unknown element type \"{}\"", dtype));
  }
  tensor.global_shape = Integers(fields, "shape", 0);
  tensor.slice.offsets = Integers(fields, "offsets", 0);
  tensor.slice.extents = Integers(fields, "extents", 0);
  if (!ElementCount(tensor.global_shape)) {
    fields->AddError("shape", "the number of elements does not fit into 63 bits");
  }
  if (!LiesInside(tensor.slice, tensor.global_shape)) {
    fields->AddError("offsets", "the box of offsets and extents does not lie inside the shape");
  }
  ReadReplica(fields, &tensor);
  tensor.alias_of = fields->OptionalString("alias_of", "");
  return tensor;
}

LogRecord ReadNames(JsonFields* fields) {
  NamesRecord record;
  const Json* const tensors = fields->RequiredArray("tensors");
  for (std::size_t i = 0; tensors != nullptr && i < tensors->size(); ++i) {
    JsonFields entry((*tensors)[i], "");
    TensorRecord tensor = ReadTensor(&entry);
    if (const Status status = entry.FinishAllowingUnknown(); !status) {
      // `where` of the inner error is empty or ": field".
      const std::string& field = status.error().where;
      fields->AddError(
          fmt::format("tensors[{}]{}", i, field.empty() ? "" : "." + field.substr(2)).c_str(),
          status.error().message);
      return record;
    }
    record.tensors.push_back(std::move(tensor));
  }
  return record;
}

LogRecord ReadRestored(JsonFields* fields) {
  RestoredRecord record;
  record.step = Step(fields);
  record.checkpoint = fields->RequiredString("checkpoint");
  fields->RequiredArray("refused");
  record.refused = fields->OptionalStrings("refused");
  return record;
}

LogRecord ReadMicro(JsonFields* fields) {
  MicroBatchRecord record;
  record.step = Step(fields);
  record.micro = fields->RequiredInteger("micro", 0, kMax);
  record.worker = fields->RequiredInteger("worker", 0, kMax);
  record.ids = Integers(fields, "ids", kMin);
  record.content = fields->RequiredString("content");
  if (!ParseHex(record.content, 32)) {
    fields->AddError("content", fmt::format("expected 32 lower-case hexadecimal digits, found "
                                            "\"{}\"",
                                            record.content));
  }
  return record;
}

LogRecord ReadStep(JsonFields* fields) {
  StepRecord record;
  record.step = Step(fields);
  record.loss = Float(fields, "loss");
  record.learning_rate = Floats(fields, "learning_rate");
  record.weight_decay = Floats(fields, "weight_decay");
  return record;
}

// [12, "0123456789abcdef", "0123456789abcdef"]: number and both lanes.
bool ReadSum(const Json& entry, StateRecord* record) {
  if (!entry.is_array() || entry.size() != 3 || !entry[0].is_number_unsigned() ||
      !entry[1].is_string() || !entry[2].is_string() ||
      entry[0].get<std::uint64_t>() > static_cast<std::uint64_t>(kMaxTensorNumber)) {
    return false;
  }
  const auto a = ParseHex(entry[1].get_ref<const std::string&>(), 16);
  const auto b = ParseHex(entry[2].get_ref<const std::string&>(), 16);
  return a && b && record->tensors.emplace(entry[0].get<int>(), DigestSum{*a, *b}).second;
}

LogRecord ReadState(JsonFields* fields) {
  static const std::vector<std::string> readings = {"request", "restored", "ready", "step"};
  StateRecord record;
  record.reading = fields->RequiredString("reading");
  if (std::find(readings.begin(), readings.end(), record.reading) == readings.end()) {
    fields->AddError("reading", fmt::format("expected one of {}, found \"{}\"",
                                            fmt::join(readings, ", "), record.reading));
  }
  record.step = Step(fields);
  const Json* const tensors = fields->RequiredArray("tensors");
  for (std::size_t i = 0; tensors != nullptr && i < tensors->size(); ++i) {
    if (!ReadSum((*tensors)[i], &record)) {
      fields->AddError(fmt::format("tensors[{}]", i).c_str(),
                       "expected [number, \"16 hex digits\", \"16 hex digits\"] with a number that "
                       "is not in the record yet");
      return record;
    }
  }
  record.scalars = StringMap(fields, "scalars");
  return record;
}

LogRecord ReadEval(JsonFields* fields) {
  return EvalRecord{.step = Step(fields), .loss = Float(fields, "loss")};
}

LogRecord ReadEpoch(JsonFields* fields) {
  return EpochRecord{.step = Step(fields), .epoch = fields->RequiredInteger("epoch", 0, kMax)};
}

// Records that hold a step alone.
template <typename Record>
LogRecord ReadPlain(JsonFields* fields) {
  return Record{.step = Step(fields)};
}

struct RecordType {
  const char* name;
  LogRecord (*read)(JsonFields*);
};

constexpr std::array<RecordType, 13> kTypes = {{
    {"start", ReadStart},
    {"names", ReadNames},
    {"restored", ReadRestored},
    {"ready", ReadPlain<ReadyRecord>},
    {"micro", ReadMicro},
    {"optimizer", ReadPlain<OptimizerRecord>},
    {"step", ReadStep},
    {"state", ReadState},
    {"save_begin", ReadPlain<SaveBeginRecord>},
    {"save_ack", ReadPlain<SaveAckRecord>},
    {"eval", ReadEval},
    {"epoch", ReadEpoch},
    {"end", ReadPlain<EndRecord>},
}};

std::string UnknownTypeMessage(const std::string& type) {
  std::vector<std::string> known;
  known.reserve(kTypes.size());
  for (const RecordType& candidate : kTypes) {
    known.emplace_back(candidate.name);
  }
  return fmt::format("unknown record type \"{}\"; known: {}", Excerpt(type),
                     fmt::join(known, ", "));
}

Result<LogRecord> ReadRecord(std::string_view line, const std::string& where) {
  REPRISE_ASSIGN_OR_RETURN(const Json json, ParseJson(line, where));
  JsonFields fields(json, where);
  const std::string type = fields.RequiredString("t");
  REPRISE_RETURN_IF_ERROR(fields.FinishAllowingUnknown());
  const auto* const found =
      std::find_if(kTypes.begin(), kTypes.end(),
                   [&](const RecordType& candidate) { return type == candidate.name; });
  if (found == kTypes.end()) {
    return Fail(ErrorCode::kCorrupt, UnknownTypeMessage(type), where);
  }
  LogRecord record = found->read(&fields);
  REPRISE_RETURN_IF_ERROR(fields.FinishAllowingUnknown());
  return record;
}

}  // namespace

Result<LogRecord> ParseLogRecord(std::string_view line, const std::string& where) {
  if (auto names = ReadNamesLine(line)) {
    return *std::move(names);
  }
  std::optional<SplitState> split = SplitStateLine(line);
  Result<LogRecord> record = ReadRecord(split ? split->line : line, where);
  if (split && record) {
    std::get<StateRecord>(*record).tensors = std::move(split->sums);
  } else if (split) {
    record = ReadRecord(line, where);  // so that the error's column is that of the line
  }
  if (!record) {
    record.error().code = ErrorCode::kCorrupt;  // the JSON helpers speak of a user's input
  }
  return record;
}

}  // namespace reprise
