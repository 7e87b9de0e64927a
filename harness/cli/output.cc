#include "harness/cli/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iostream>
#include <set>
#include <sstream>

#include "harness/base/files.h"
#include "harness/base/json_fields.h"
#include "harness/cli/command.h"
#include "reports/text.h"

namespace reprise {
namespace {

std::vector<std::string> WriterNames() {
  std::vector<std::string> names;
  for (const WriterInfo& info : AllWriters()) {
    names.push_back(info.name);
  }
  return names;
}

WriterOptions ConsoleOptions(bool on_error_stream, bool quiet) {
  WriterOptions options;
  options.quiet = quiet;
  options.terminal = isatty(on_error_stream ? STDERR_FILENO : STDOUT_FILENO) == 1;
  // https://no-color.org: any non-empty value turns colours off.
  const char* no_color = std::getenv("NO_COLOR");  // NOLINT(concurrency-mt-unsafe): one thread
  options.colour = options.terminal && (no_color == nullptr || *no_color == '\0');
  return options;
}

// Replaces a regular file as a whole, follows a link, and writes into anything else (a pipe, a
// device).
Status WriteWhereAsked(const std::filesystem::path& path, const std::string& text) {
  std::error_code error;
  const auto target = std::filesystem::canonical(path, error);
  if (error) {
    return WriteFileAtomically(path, text);  // does not exist yet
  }
  return std::filesystem::is_regular_file(target, error) ? WriteFileAtomically(target, text)
                                                         : AppendToFile(target, text);
}

std::string Render(const WriterInfo& info, const Report& report) {
  std::ostringstream text;
  info.make(text, {})->OnFinished(report);
  return text.str();
}

}  // namespace

int SayError(const Error& error) {
  // It may quote a hostile file; line breaks are ours or harmless.
  std::istringstream lines("reprise: " + error.ToString());
  for (std::string line; std::getline(lines, line);) {
    fmt::print(stderr, "{}\n", EscapeControls(line));
  }
  switch (error.code) {
    case ErrorCode::kUsage:
    case ErrorCode::kInvalidInput:
    case ErrorCode::kNotFound:
      return kUsageError;
    case ErrorCode::kCorrupt:
    case ErrorCode::kUnsupported:
    case ErrorCode::kSystem:
    case ErrorCode::kDeadline:
      break;
  }
  return kHarnessTrouble;
}

Result<std::chrono::milliseconds> ParseBudget(const std::string& text) {
  std::int64_t count = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, count);
  const std::string unit(stop, end);
  const std::int64_t seconds = unit.empty() || unit == "s" ? 1
                               : unit == "m"               ? 60
                               : unit == "h"               ? 3600
                                                           : 0;
  if (error != std::errc() || count <= 0 || count > 1'000'000 || seconds == 0) {
    return Fail(ErrorCode::kUsage,
                fmt::format("expected a time such as 90s, 15m or 2h, found \"{}\"", text),
                "--budget");
  }
  return std::chrono::milliseconds(count * seconds * 1000);
}

void OccupyStandardStreams() {
  for (int fd = open("/dev/null", O_RDWR | O_CLOEXEC); fd >= 0;
       fd = open("/dev/null", O_RDWR | O_CLOEXEC)) {
    if (fd > STDERR_FILENO) {
      close(fd);
      return;
    }
    fcntl(fd, F_SETFD, 0);
  }
}

std::string ProgramName() {
  std::ifstream arguments("/proc/self/cmdline", std::ios::binary);
  std::string name;
  std::getline(arguments, name, '\0');
  return name.empty() ? "reprise" : name;
}

std::filesystem::path ModelsFolder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / "reference_models";
}

Result<Reporters> Reporters::Create(const std::vector<std::string>& names, const std::string& json,
                                    bool quiet) {
  Reporters reporters;
  reporters.json_ = json;
  const bool on_error_stream = json == "-";
  std::set<std::string> seen;
  for (const std::string& name : names) {
    const WriterInfo* info = FindWriter(name);
    if (info == nullptr) {
      return Fail(ErrorCode::kUsage,
                  fmt::format("no report named \"{}\"; there are: {}", name,
                              fmt::join(WriterNames(), ", ")),
                  "--report");
    }
    if (!seen.insert(name).second) {
      continue;
    }
    if (!info->file_name.empty()) {
      reporters.files_.push_back(info);
    } else {
      reporters.printers_.push_back(info->make(on_error_stream ? std::cerr : std::cout,
                                               ConsoleOptions(on_error_stream, quiet)));
    }
  }
  return reporters;
}

std::vector<ReportWriter*> Reporters::Listeners() const {
  std::vector<ReportWriter*> listeners;
  for (const auto& printer : printers_) {
    listeners.push_back(printer.get());
  }
  return listeners;
}

Status Reporters::Finish(const Report& report, const std::filesystem::path& folder) const {
  Status first_trouble;
  const auto note = [&first_trouble](Status status) {
    if (!status && first_trouble) {
      first_trouble = std::move(status);
    }
  };
  for (const WriterInfo* info : files_) {
    note(WriteFileAtomically(folder / info->file_name, Render(*info, report)));
  }
  if (json_ == "-") {
    std::cout << Render(*FindWriter("json"), report) << std::flush;
  } else if (!json_.empty()) {
    note(WriteWhereAsked(json_, Render(*FindWriter("json"), report)));
  }
  for (const auto& printer : printers_) {
    printer->OnFinished(report);
  }
  return first_trouble;
}

}  // namespace reprise
