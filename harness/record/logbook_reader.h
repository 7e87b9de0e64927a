// Reads a logbook (docs/logbook.md). Bounded: lines of at most 16 MiB, whatever the file holds.

#ifndef REPRISE_HARNESS_RECORD_LOGBOOK_READER_H_
#define REPRISE_HARNESS_RECORD_LOGBOOK_READER_H_

#include <filesystem>
#include <string_view>
#include <vector>

#include "harness/base/result.h"
#include "harness/model/log_record.h"

namespace reprise {

// One line, without its newline. Unknown fields are accepted; an unknown record type, a missing
// field or a wrong type is kCorrupt, and `where` (file and line) is put into the error.
Result<LogRecord> ParseLogRecord(std::string_view line, const std::string& where);

// Whole file of one rank. A torn last line (no newline) is skipped and marked; any other bad line
// is an error with file and line.
Result<Logbook> ReadLogbook(const std::filesystem::path& path);

// rank-0.jsonl, rank-1.jsonl … of one attempt's logbook folder; an empty folder is an empty list.
Result<std::vector<Logbook>> ReadLogbooks(const std::filesystem::path& folder);

}  // namespace reprise

#endif  // REPRISE_HARNESS_RECORD_LOGBOOK_READER_H_
