#include "harness/record/attempt_store.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "harness/base/files.h"
#include "harness/record/line_reader.h"
#include "harness/record/model_json.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

// A line holds a record of at most 16 MiB with its quotes escaped.
constexpr LineLimits kLimits = {.line_bytes = std::uint64_t{128} << 20,
                                .file_bytes = std::uint64_t{4} << 30,
                                .what = "the events of an attempt"};
constexpr std::int64_t kAny = INT64_MAX;

// In the order of the enumerations.
constexpr std::array<const char*, 4> kRankEnds = {"exited", "signalled", "killed-by-fault",
                                                  "killed-after"};
constexpr std::array<const char*, 4> kAttemptEnds = {"all-exited", "fault", "hung", "timeout"};

template <typename E, std::size_t N>
E WordIn(const std::array<const char*, N>& words, JsonFields* fields, const char* name) {
  const std::string text = fields->RequiredString(name);
  for (std::size_t i = 0; i < N; ++i) {
    if (text == words[i]) {
      return static_cast<E>(i);
    }
  }
  fields->AddError(name, "unknown word \"" + text + "\"");
  return static_cast<E>(0);
}

OrderedJson EncodeHead(const AttemptResult& result) {
  OrderedJson ranks = OrderedJson::array();
  for (const RankResult& rank : result.ranks) {
    ranks.push_back({{"end", kRankEnds[static_cast<std::size_t>(rank.end)]},
                     {"status", rank.status},
                     {"cpu_us", rank.cpu_time.count()},
                     {"peak_memory", rank.peak_memory_bytes}});
  }
  return {{"end", kAttemptEnds[static_cast<std::size_t>(result.end)]},
          {"ranks", ranks},
          {"wall_us", result.wall_time.count()},
          {"tracer_stops", result.tracer_stop_count},
          {"blind_spots", result.blind_spots},
          {"stacks", result.stacks},
          {"events", result.events.size()}};
}

OrderedJson EncodeEvent(const AttemptEvent& event) {
  if (const auto* record = std::get_if<RecordEvent>(&event)) {
    return {{"record", record->rank}, {"line", record->line}};
  }
  if (const auto* output = std::get_if<OutputEvent>(&event)) {
    return {{"output", output->rank}, {"stream", output->stream}, {"line", output->line}};
  }
  if (const auto* fault = std::get_if<FaultEvent>(&event)) {
    return {{"fault", fault->injector}, {"what", fault->what}};
  }
  return {{"operation", EncodeOperation(std::get<OperationEvent>(event).operation)}};
}

Result<RankResult> DecodeRank(const Json& json, const std::string& where) {
  JsonFields fields(json, where);
  RankResult rank;
  rank.end = WordIn<RankEnd>(kRankEnds, &fields, "end");
  rank.status = static_cast<int>(fields.RequiredInteger("status", -1, 1 << 16));
  rank.cpu_time = std::chrono::microseconds(fields.RequiredInteger("cpu_us", 0, kAny));
  rank.peak_memory_bytes = fields.RequiredInteger("peak_memory", 0, kAny);
  REPRISE_RETURN_IF_ERROR(fields.FinishAllowingUnknown());
  return rank;
}

struct Head {
  AttemptResult result;
  std::int64_t event_count = 0;
};

Result<Head> DecodeHead(const Json& json, const std::string& where) {
  JsonFields fields(json, where);
  Head head;
  AttemptResult& result = head.result;
  result.end = WordIn<AttemptEnd>(kAttemptEnds, &fields, "end");
  result.wall_time = std::chrono::microseconds(fields.RequiredInteger("wall_us", 0, kAny));
  result.tracer_stop_count = fields.RequiredInteger("tracer_stops", 0, kAny);
  result.blind_spots = fields.OptionalStrings("blind_spots");
  result.stacks = fields.RequiredString("stacks");
  head.event_count = fields.RequiredInteger("events", 0, kAny);
  if (const Json* ranks = fields.RequiredArray("ranks")) {
    for (const Json& element : *ranks) {
      REPRISE_ASSIGN_OR_RETURN(
          const RankResult rank,
          DecodeRank(element, fmt::format("{}: ranks[{}]", where, result.ranks.size())));
      result.ranks.push_back(rank);
    }
  }
  REPRISE_RETURN_IF_ERROR(fields.FinishAllowingUnknown());
  return head;
}

Result<AttemptEvent> DecodeEvent(const Json& json, const std::string& where) {
  JsonFields fields(json, where);
  AttemptEvent event;
  if (fields.Optional("record") != nullptr) {
    event = RecordEvent{static_cast<int>(fields.RequiredInteger("record", 0, 1 << 20)),
                        fields.RequiredString("line")};
  } else if (fields.Optional("output") != nullptr) {
    event = OutputEvent{static_cast<int>(fields.RequiredInteger("output", 0, 1 << 20)),
                        static_cast<int>(fields.RequiredInteger("stream", 1, 2)),
                        fields.RequiredString("line")};
  } else if (fields.Optional("fault") != nullptr) {
    event = FaultEvent{fields.RequiredString("fault"), fields.RequiredString("what")};
  } else if (const Json* operation = fields.RequiredObject("operation")) {
    REPRISE_ASSIGN_OR_RETURN(Operation decoded,
                             DecodeOperation(*operation, fields.WhereField("operation")));
    event = OperationEvent{std::move(decoded)};
  }
  REPRISE_RETURN_IF_ERROR(fields.FinishAllowingUnknown());
  return event;
}

}  // namespace

Status PrepareAttemptFolder(const fs::path& folder) {
  REPRISE_RETURN_IF_ERROR(MakeFolders(folder / "logbook"));
  return MakeFolders(folder / "output");
}

Status StoreAttempt(const fs::path& folder, const AttemptResult& result) {
  std::string text = DumpJson(EncodeHead(result)) + "\n";
  for (const AttemptEvent& event : result.events) {
    text += DumpJson(EncodeEvent(event)) + "\n";
  }
  return WriteFileAtomically(folder / "attempt.jsonl", text);
}

Result<AttemptResult> LoadAttempt(const fs::path& folder) {
  const fs::path path = folder / "attempt.jsonl";
  REPRISE_ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(path, kLimits));
  Head head;
  bool has_head = false;
  for (;;) {  // ends with the file
    REPRISE_ASSIGN_OR_RETURN(const std::optional<std::string_view> line, lines.Next());
    if (!line) {
      break;
    }
    const std::string where = lines.Where();
    REPRISE_ASSIGN_OR_RETURN(const Json json, ParseJson(*line, where));
    if (!has_head) {
      REPRISE_ASSIGN_OR_RETURN(head, DecodeHead(json, where));
      has_head = true;
    } else {
      REPRISE_ASSIGN_OR_RETURN(AttemptEvent event, DecodeEvent(json, where));
      head.result.events.push_back(std::move(event));
    }
  }
  if (!has_head || static_cast<std::int64_t>(head.result.events.size()) != head.event_count) {
    return Fail(ErrorCode::kCorrupt,
                fmt::format("torn: expected {} events, found {}", head.event_count,
                            head.result.events.size()),
                lines.Where());
  }
  return std::move(head.result);
}

}  // namespace reprise
