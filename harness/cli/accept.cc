#include "harness/cli/accept.h"

#include <fmt/format.h>

#include <cctype>
#include <chrono>
#include <set>
#include <string>

#include "harness/base/files.h"
#include "harness/base/json_fields.h"

namespace reprise {
namespace {

constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 20;
constexpr const char* kSchema = "reprise.accepted/1";

// A day of the calendar as YYYY-MM-DD.
bool IsDate(const std::string& text) {
  constexpr std::string_view kForm = "dddd-dd-dd";
  if (text.size() != kForm.size()) {
    return false;
  }
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool is_digit = std::isdigit(static_cast<unsigned char>(text[i])) != 0;
    if (kForm[i] == 'd' ? !is_digit : text[i] != kForm[i]) {
      return false;
    }
  }
  const std::chrono::year_month_day day(
      std::chrono::year(std::stoi(text.substr(0, 4))),
      std::chrono::month(static_cast<unsigned>(std::stoi(text.substr(5, 2)))),
      std::chrono::day(static_cast<unsigned>(std::stoi(text.substr(8, 2)))));
  return day.ok();
}

Result<Acceptance> ReadEntry(const Json& json, const std::string& where) {
  JsonFields fields(json, where);
  Acceptance entry;
  entry.fingerprint = fields.RequiredString("fingerprint");
  entry.reason = fields.RequiredString("reason");
  entry.date = fields.RequiredString("date");
  REPRISE_RETURN_IF_ERROR(fields.Finish());
  if (entry.fingerprint.empty()) {
    fields.AddError("fingerprint", "expected the fingerprint of a finding, found an empty text");
  }
  if (entry.reason.empty()) {
    fields.AddError("reason", "expected why the finding is accepted, found an empty text");
  }
  if (!IsDate(entry.date)) {
    fields.AddError("date",
                    fmt::format("expected a day as YYYY-MM-DD, found \"{}\"", Excerpt(entry.date)));
  }
  REPRISE_RETURN_IF_ERROR(fields.Finish());
  return entry;
}

}  // namespace

Result<std::vector<Acceptance>> LoadAcceptances(const std::filesystem::path& path) {
  std::vector<Acceptance> entries;
  if (path.empty()) {
    return entries;
  }
  REPRISE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxFileBytes));
  REPRISE_ASSIGN_OR_RETURN(const Json json, ParseJson(text, path.string()));
  JsonFields fields(json, path.string());
  const std::string schema = fields.RequiredString("schema");
  if (!schema.empty() && schema != kSchema) {
    fields.AddError("schema",
                    fmt::format("expected \"{}\", found \"{}\"", kSchema, Excerpt(schema)));
  }
  const Json* accepted = fields.RequiredArray("accepted");
  REPRISE_RETURN_IF_ERROR(fields.Finish());
  std::set<std::string> seen;
  for (const Json& element : *accepted) {
    const std::string where = fmt::format("{}[{}]", fields.WhereField("accepted"), entries.size());
    REPRISE_ASSIGN_OR_RETURN(entries.emplace_back(), ReadEntry(element, where));
    if (!seen.insert(entries.back().fingerprint).second) {
      return Fail(ErrorCode::kInvalidInput, "a second entry for this fingerprint",
                  where + ".fingerprint");
    }
  }
  return entries;
}

}  // namespace reprise
