// Joins operations and acknowledgements; see operation_story.h.

#include "harness/judge/causes/operation_story.h"

#include <fmt/format.h>

#include <map>

namespace reprise {
namespace {

// Moves names below `from` to `to`.
void Rename(std::set<std::string>& files, const std::string& from, const std::string& to) {
  std::set<std::string> moved;
  for (const std::string& file : files) {
    moved.insert(LiesBelow(file, from) ? to + file.substr(from.size()) : file);
  }
  files = std::move(moved);
}

// What the operation takes away from `files`, or nothing. A rename over a file replaces it whole,
// which is how pointers are moved on: no loss by itself.
bool Destroys(const Operation& operation, const std::set<std::string>& files) {
  const bool removes =
      operation.kind == OperationKind::kUnlink || operation.kind == OperationKind::kTruncate ||
      (operation.kind == OperationKind::kOpen && operation.truncates && !operation.creates);
  return removes && files.contains(operation.path);
}

}  // namespace

std::vector<StoryEvent> StoryOf(const AttemptEvidence& attempt) {
  std::map<int, const Logbook*> books;
  for (const Logbook& book : attempt.logbooks) {
    books[book.rank] = &book;
  }
  std::map<int, std::size_t> next;
  std::set<std::int64_t> acknowledged;
  std::vector<StoryEvent> story;
  for (const AttemptEvent& event : attempt.result.events) {
    if (const auto* operation = std::get_if<OperationEvent>(&event)) {
      if (operation->operation.result >= 0) {
        story.push_back({&operation->operation, -1});
      }
    } else if (const auto* record = std::get_if<RecordEvent>(&event)) {
      const std::size_t number = next[record->rank]++;
      const auto book = books.find(record->rank);
      if (book == books.end() || number >= book->second->records.size()) {
        continue;
      }
      const auto* ack = std::get_if<SaveAckRecord>(&book->second->records[number]);
      if (ack != nullptr && acknowledged.insert(ack->step).second) {
        story.push_back({nullptr, ack->step});
      }
    }
  }
  return story;
}

std::optional<DestroyedCheckpoint> FindDestroyed(const AttemptEvidence& attempt) {
  std::set<std::string> written;    // since the last acknowledgement
  std::set<std::string> last_good;  // files of the acknowledged checkpoint
  std::int64_t step = -1;
  const Operation* destroyer = nullptr;
  for (const StoryEvent& event : StoryOf(attempt)) {
    if (event.operation == nullptr) {
      last_good = std::move(written);
      written.clear();
      step = event.acknowledged_step;
      destroyer = nullptr;
      continue;
    }
    const Operation& operation = *event.operation;
    if (destroyer == nullptr && Destroys(operation, last_good)) {
      destroyer = &operation;
    }
    if (operation.kind == OperationKind::kRename) {
      Rename(written, operation.path, operation.second_path);
    } else if (operation.kind == OperationKind::kOpen || operation.kind == OperationKind::kWrite) {
      written.insert(operation.path);
    }
  }
  if (destroyer == nullptr) {
    return std::nullopt;
  }
  return DestroyedCheckpoint{step, destroyer};
}

bool LiesBelow(const std::string& path, const std::string& folder) {
  return path == folder || (path.size() > folder.size() && path[folder.size()] == '/' &&
                            path.compare(0, folder.size(), folder) == 0);
}

std::string Show(const Operation& operation) {
  return fmt::format("{} {}{} (rank {}, operation {})", ToText(operation.kind), operation.path,
                     operation.second_path.empty() ? "" : " -> " + operation.second_path,
                     operation.address.rank, operation.address.ToText());
}

}  // namespace reprise
