// Joins operations and acknowledgements; see operation_story.h.

#include "harness/judge/causes/operation_story.h"

#include <fmt/format.h>

#include <map>

namespace reprise {

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
