// What the subcommands share: where reports go, how errors are said, how options are read.

#ifndef REPRISE_HARNESS_CLI_OUTPUT_H_
#define REPRISE_HARNESS_CLI_OUTPUT_H_

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "harness/base/result.h"
#include "harness/model/report.h"
#include "reports/report_writer.h"

namespace reprise {

// Says the error on standard error and returns the exit status that belongs to its code.
int SayError(const Error& error);

// "90", "90s", "15m", "2h"; kUsage otherwise.
Result<std::chrono::milliseconds> ParseBudget(const std::string& text);

// Opens /dev/null on each of the descriptors 0 to 2 that is closed: else the next file that we open
// gets its number, and what is printed goes there.
void OccupyStandardStreams();

// The command as the user typed it: "build/release/reprise".
std::string ProgramName();

// The folder of our reference trainings, beside this executable.
std::filesystem::path ModelsFolder();

// The writers of one command: those named, and JSON where --json asks for it.
class Reporters {
 public:
  // `names`: of AllWriters(), each once. `json`: a file, "-" for standard output (what is printed
  // then goes to standard error), or empty. kUsage for an unknown name.
  static Result<Reporters> Create(const std::vector<std::string>& names, const std::string& json,
                                  bool quiet);

  // Those that show things as they happen.
  [[nodiscard]] std::vector<ReportWriter*> Listeners() const;

  // Writes every report; files go into `folder`. An unwritable file is an error, after all others
  // were written.
  [[nodiscard]] Status Finish(const Report& report, const std::filesystem::path& folder) const;

 private:
  std::vector<std::unique_ptr<ReportWriter>> printers_;
  std::vector<const WriterInfo*> files_;
  std::string json_;
};

}  // namespace reprise

#endif  // REPRISE_HARNESS_CLI_OUTPUT_H_
