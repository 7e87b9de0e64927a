#include "harness/record/model_json.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

namespace reprise {
namespace {

constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();

// Durations are kept in whole microseconds: a report read back is the report that was written.
std::int64_t ToMicroseconds(double seconds) { return std::llround(seconds * 1e6); }
double FromMicroseconds(std::int64_t count) { return static_cast<double>(count) * 1e-6; }

std::map<std::string, std::string> TextMap(JsonFields* fields, const char* name) {
  std::map<std::string, std::string> values;
  const Json* json = fields->Optional(name);
  if (json == nullptr) {
    return values;
  }
  if (!json->is_object()) {
    fields->AddError(name, "expected an object, found " + DescribeJson(*json));
    return values;
  }
  for (const auto& [key, value] : json->items()) {
    if (!value.is_string()) {
      fields->AddError(name, "expected only strings, found " + DescribeJson(value));
      return {};
    }
    values[key] = value.get<std::string>();
  }
  return values;
}

// Lives have world sizes; nothing else is a list of integers.
constexpr std::int64_t kMaxWorld = 1 << 20;

std::vector<int> WorldList(JsonFields* fields, const char* name) {
  std::vector<int> values;
  const Json* json = fields->RequiredArray(name);
  if (json == nullptr) {
    return values;
  }
  for (const Json& value : *json) {
    if (!value.is_number_integer() || value < 1 || value > kMaxWorld) {
      fields->AddError(name, fmt::format("expected world sizes from 1 to {}, found {}", kMaxWorld,
                                         DescribeJson(value)));
      return {};
    }
    values.push_back(value.get<int>());
  }
  return values;
}

template <typename T, typename Parse>
std::optional<T> Word(JsonFields* fields, const char* name, Parse parse) {
  const std::string text = fields->RequiredString(name);
  std::optional<T> value = parse(text);
  if (!value) {
    fields->AddError(name, "unknown word \"" + text + "\"");
  }
  return value;
}

OrderedJson EncodeFault(const Fault& fault) {
  return {{"kind", fault.kind}, {"attempt", fault.attempt}, {"params", fault.params}};
}

Result<Fault> DecodeFault(const Json& json, const std::string& where) {
  JsonFields fields(json, where);
  Fault fault;
  fault.kind = fields.RequiredString("kind");
  fault.attempt = static_cast<int>(fields.OptionalInteger("attempt", 0, 0, 1000));
  fault.params = TextMap(&fields, "params");
  REPRISE_RETURN_IF_ERROR(fields.FinishAllowingUnknown());
  return fault;
}

OrderedJson EncodeDivergence(const Divergence& divergence) {
  return {{"layer", ToText(divergence.layer)}, {"step", divergence.step},
          {"rank", divergence.rank},           {"name", divergence.name},
          {"expected", divergence.expected},   {"actual", divergence.actual},
          {"detail", divergence.detail}};
}

Result<Divergence> DecodeDivergence(const Json& json, const std::string& where) {
  JsonFields fields(json, where);
  Divergence divergence;
  divergence.layer = Word<Layer>(&fields, "layer", ParseLayer).value_or(Layer::kD0);
  divergence.step = fields.RequiredInteger("step", -1, kAny);
  divergence.rank = static_cast<int>(fields.RequiredInteger("rank", -1, 1 << 30));
  divergence.name = fields.RequiredString("name");
  divergence.expected = fields.RequiredString("expected");
  divergence.actual = fields.RequiredString("actual");
  divergence.detail = fields.RequiredString("detail");
  REPRISE_RETURN_IF_ERROR(fields.FinishAllowingUnknown());
  return divergence;
}

OrderedJson EncodeOutcome(const Outcome& outcome) {
  OrderedJson json = {
      {"verdict", ToText(outcome.verdict)},     {"why", outcome.why},
      {"restored_step", outcome.restored_step}, {"expected_step", outcome.expected_step},
      {"lost_steps", outcome.lost_steps},       {"recovery_us", ToMicroseconds(outcome.recovery_s)},
      {"announced", outcome.announced},         {"cause", outcome.cause},
      {"evidence", outcome.evidence},           {"consequences", outcome.consequences}};
  if (outcome.divergence) {
    json["divergence"] = EncodeDivergence(*outcome.divergence);
  }
  return json;
}

Result<Outcome> DecodeOutcome(const Json& json, const std::string& where) {
  JsonFields fields(json, where);
  Outcome outcome;
  outcome.verdict =
      Word<Verdict>(&fields, "verdict", ParseVerdict).value_or(Verdict::kHarnessError);
  outcome.why = fields.RequiredString("why");
  outcome.restored_step = fields.RequiredInteger("restored_step", -1, kAny);
  outcome.expected_step = fields.RequiredInteger("expected_step", -1, kAny);
  outcome.lost_steps = fields.RequiredInteger("lost_steps", -kAny, kAny);
  outcome.recovery_s = FromMicroseconds(fields.RequiredInteger("recovery_us", 0, kAny));
  outcome.announced = fields.OptionalBool("announced", false);
  outcome.cause = fields.RequiredString("cause");
  outcome.evidence = fields.RequiredString("evidence");
  outcome.consequences = fields.OptionalStrings("consequences");
  if (const Json* divergence = fields.Optional("divergence")) {
    REPRISE_ASSIGN_OR_RETURN(outcome.divergence,
                             DecodeDivergence(*divergence, fields.WhereField("divergence")));
  }
  REPRISE_RETURN_IF_ERROR(fields.FinishAllowingUnknown());
  return outcome;
}

OrderedJson EncodeExpectation(const Expectation& expect) {
  OrderedJson json = {
      {"verdicts", OrderedJson::array()}, {"cause", expect.cause}, {"name", expect.name}};
  for (const Verdict verdict : expect.verdicts) {
    json["verdicts"].push_back(ToText(verdict));
  }
  if (expect.layer) {
    json["layer"] = ToText(*expect.layer);
  }
  if (expect.step) {
    json["step"] = *expect.step;
  }
  return json;
}

Result<Expectation> DecodeExpectation(const Json& json, const std::string& where) {
  JsonFields fields(json, where);
  Expectation expect;
  for (const std::string& word : fields.OptionalStrings("verdicts")) {
    const auto verdict = ParseVerdict(word);
    if (!verdict) {
      fields.AddError("verdicts", "unknown verdict \"" + word + "\"");
      break;
    }
    expect.verdicts.push_back(*verdict);
  }
  expect.cause = fields.RequiredString("cause");
  expect.name = fields.RequiredString("name");
  if (fields.Optional("layer") != nullptr) {
    expect.layer = Word<Layer>(&fields, "layer", ParseLayer);
  }
  if (fields.Optional("step") != nullptr) {
    expect.step = fields.RequiredInteger("step", 0, kAny);
  }
  REPRISE_RETURN_IF_ERROR(fields.FinishAllowingUnknown());
  return expect;
}

Result<std::vector<Fault>> DecodeFaults(const Json* json, const std::string& where) {
  std::vector<Fault> faults;
  if (json == nullptr) {
    return faults;
  }
  for (const Json& element : *json) {
    REPRISE_ASSIGN_OR_RETURN(
        Fault fault, DecodeFault(element, fmt::format("{}: faults[{}]", where, faults.size())));
    faults.push_back(std::move(fault));
  }
  return faults;
}

}  // namespace

OrderedJson EncodeTarget(const TargetReport& report) {
  const Target& target = report.target;
  OrderedJson json = {{"id", target.id},
                      {"command", target.command},
                      {"format", target.format},
                      {"steps", target.steps},
                      {"seed", target.seed},
                      {"fork_server", target.fork_server},
                      {"world_invariant", target.world_invariant},
                      {"environment", target.environment},
                      {"depth", report.depth},
                      {"blind_spots", report.blind_spots},
                      {"versions", report.versions},
                      {"calibrated", report.calibration.observed},
                      {"deterministic", report.calibration.deterministic},
                      {"noise", report.calibration.noise},
                      {"exercised", report.exercised},
                      {"not_exercised", report.not_exercised}};
  if (report.calibration.first_difference) {
    json["first_difference"] = EncodeDivergence(*report.calibration.first_difference);
  }
  return json;
}

Result<TargetReport> DecodeTarget(const Json& json, const std::string& where) {
  JsonFields fields(json, where);
  TargetReport report;
  report.target.id = fields.RequiredString("id");
  report.target.command = fields.OptionalStrings("command");
  report.target.format = fields.RequiredString("format");
  report.target.steps = fields.RequiredInteger("steps", 0, kAny);
  report.target.seed = fields.RequiredInteger("seed", -kAny, kAny);
  report.target.fork_server = fields.OptionalBool("fork_server", false);
  report.target.world_invariant = fields.OptionalBool("world_invariant", false);
  report.target.environment = TextMap(&fields, "environment");
  report.depth = fields.RequiredString("depth");
  report.blind_spots = fields.OptionalStrings("blind_spots");
  report.versions = TextMap(&fields, "versions");
  report.calibration.observed = fields.OptionalBool("calibrated", false);
  report.calibration.deterministic = fields.OptionalBool("deterministic", true);
  report.calibration.noise = fields.RequiredString("noise");
  report.exercised = fields.OptionalStrings("exercised");
  report.not_exercised = fields.OptionalStrings("not_exercised");
  if (const Json* difference = fields.Optional("first_difference")) {
    REPRISE_ASSIGN_OR_RETURN(report.calibration.first_difference,
                             DecodeDivergence(*difference, fields.WhereField("first_difference")));
  }
  REPRISE_RETURN_IF_ERROR(fields.FinishAllowingUnknown());
  return report;
}

OrderedJson EncodeCase(const CaseReport& report) {
  const Case& the_case = report.the_case;
  OrderedJson json = {{"id", the_case.id},
                      {"scenario", the_case.scenario},
                      {"target", the_case.target},
                      {"faults", OrderedJson::array()},
                      {"world", the_case.world},
                      {"reference_world", the_case.reference_world},
                      {"save_mode", the_case.save_mode},
                      {"outcome", EncodeOutcome(report.outcome)},
                      {"met", report.met},
                      {"unmet_why", report.unmet_why},
                      {"fired", report.fired},
                      {"confirmation", report.confirmation},
                      {"wall_us", ToMicroseconds(report.wall_s)},
                      {"replay", report.replay}};
  for (const Fault& fault : the_case.faults) {
    json["faults"].push_back(EncodeFault(fault));
  }
  if (report.expect) {
    json["expect"] = EncodeExpectation(*report.expect);
  }
  return json;
}

Result<CaseReport> DecodeCase(const Json& json, const std::string& where) {
  JsonFields fields(json, where);
  CaseReport report;
  report.the_case.id = fields.RequiredString("id");
  report.the_case.scenario = fields.RequiredString("scenario");
  report.the_case.target = fields.RequiredString("target");
  REPRISE_ASSIGN_OR_RETURN(report.the_case.faults,
                           DecodeFaults(fields.RequiredArray("faults"), where));
  report.the_case.world = WorldList(&fields, "world");
  report.the_case.reference_world =
      static_cast<int>(fields.RequiredInteger("reference_world", 1, 1 << 20));
  report.the_case.save_mode = fields.RequiredString("save_mode");
  if (const Json* outcome = fields.RequiredObject("outcome")) {
    REPRISE_ASSIGN_OR_RETURN(report.outcome, DecodeOutcome(*outcome, fields.WhereField("outcome")));
  }
  report.met = fields.OptionalBool("met", false);
  report.unmet_why = fields.RequiredString("unmet_why");
  report.fired = fields.OptionalStrings("fired");
  report.confirmation = fields.OptionalString("confirmation", "");
  report.wall_s = FromMicroseconds(fields.RequiredInteger("wall_us", 0, kAny));
  report.replay = fields.RequiredString("replay");
  if (const Json* expect = fields.Optional("expect")) {
    REPRISE_ASSIGN_OR_RETURN(report.expect,
                             DecodeExpectation(*expect, fields.WhereField("expect")));
  }
  REPRISE_RETURN_IF_ERROR(fields.FinishAllowingUnknown());
  return report;
}

OrderedJson EncodeOperation(const Operation& operation) {
  OrderedJson json = {{"kind", ToText(operation.kind)}, {"address", operation.address.ToText()},
                      {"pid", operation.pid},           {"call", operation.call},
                      {"path", operation.path},         {"result", operation.result}};
  if (!operation.second_path.empty()) {
    json["second_path"] = operation.second_path;
  }
  json["device"] = operation.device;
  json["inode"] = operation.inode;
  json["offset"] = operation.offset_bytes;
  json["length"] = operation.length_bytes;
  json["mode"] = operation.mode;
  for (const auto& [name, flag] :
       {std::pair{"creates", operation.creates}, std::pair{"truncates", operation.truncates},
        std::pair{"excludes", operation.excludes}, std::pair{"exchanges", operation.exchanges}}) {
    if (flag) {
      json[name] = true;
    }
  }
  return json;
}

Result<Operation> DecodeOperation(const Json& json, const std::string& where) {
  JsonFields fields(json, where);
  Operation operation;
  operation.kind =
      Word<OperationKind>(&fields, "kind", ParseOperationKind).value_or(OperationKind::kOpen);
  const auto address = OperationAddress::Parse(fields.RequiredString("address"));
  if (address) {
    operation.address = *address;
  } else {
    fields.AddError("address", address.error().message);
  }
  operation.pid = static_cast<int>(fields.RequiredInteger("pid", 0, 1 << 30));
  operation.call = fields.RequiredString("call");
  operation.path = fields.RequiredString("path");
  operation.second_path = fields.OptionalString("second_path", "");
  operation.result = fields.RequiredInteger("result", -kAny, kAny);
  operation.device = static_cast<std::uint64_t>(fields.RequiredInteger("device", 0, kAny));
  operation.inode = static_cast<std::uint64_t>(fields.RequiredInteger("inode", 0, kAny));
  operation.offset_bytes = fields.RequiredInteger("offset", -kAny, kAny);
  operation.length_bytes = fields.RequiredInteger("length", -kAny, kAny);
  operation.mode = static_cast<unsigned>(fields.RequiredInteger("mode", 0, 0xFFFFFFFF));
  operation.creates = fields.OptionalBool("creates", false);
  operation.truncates = fields.OptionalBool("truncates", false);
  operation.excludes = fields.OptionalBool("excludes", false);
  operation.exchanges = fields.OptionalBool("exchanges", false);
  REPRISE_RETURN_IF_ERROR(fields.FinishAllowingUnknown());
  return operation;
}

}  // namespace reprise
