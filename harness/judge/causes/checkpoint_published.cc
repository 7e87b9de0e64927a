// A checkpoint became visible before all of its files were there.
//
// Models: rank 0 writes the marker or renames the folder without waiting for its peers; a kill in
// between leaves a checkpoint that every loader finds and none can read.

#include <fmt/format.h>

#include <algorithm>

#include "harness/judge/causes/cause_rule.h"
#include "harness/judge/causes/operation_story.h"

namespace reprise {
namespace {

constexpr const char* kPublished = "checkpoint: published before all ranks wrote";

// The operation that made `name` visible: a rename or link to it, or a write or rename that a
// pointer file got with the name in it.
bool Publishes(const Operation& operation, const std::string& name) {
  switch (operation.kind) {
    case OperationKind::kRename:
    case OperationKind::kLink:
      return operation.second_path == name;
    case OperationKind::kSymlink:
      return operation.path == name || LiesBelow(operation.path, name);
    case OperationKind::kWrite:
      return operation.path.find('/') == std::string::npos && operation.data.size() < 4096 &&
             operation.data.find(name) != std::string::npos;
    case OperationKind::kMakeFolder:
    case OperationKind::kOpen:
    case OperationKind::kTruncate:
    case OperationKind::kAllocate:
    case OperationKind::kSync:
    case OperationKind::kSyncRange:
    case OperationKind::kUnlink:
    case OperationKind::kRemoveFolder:
    case OperationKind::kAttributes:
    case OperationKind::kMapShared:
      return false;
  }
  return false;
}

// Content that a checkpoint gets: making its files and filling them.
bool Fills(const Operation& operation) {
  return operation.kind == OperationKind::kWrite ||
         (operation.kind == OperationKind::kOpen && operation.creates) ||
         operation.kind == OperationKind::kRename;
}

const StoredCheckpoint* FirstUnsound(const JudgeInput& input) {
  const auto at =
      std::find_if(input.stored.begin(), input.stored.end(), [](const StoredCheckpoint& stored) {
        return !stored.error.empty() || !stored.missing_files.empty();
      });
  return at == input.stored.end() ? nullptr : &*at;
}

// A file that the checkpoint demands was removed, so it had been there.
bool WasRemoved(const std::vector<StoryEvent>& story, const std::string& file) {
  return std::any_of(story.begin(), story.end(), [&](const StoryEvent& event) {
    return event.operation != nullptr && event.operation->kind == OperationKind::kUnlink &&
           event.operation->path == file;
  });
}

std::optional<CauseFinding> Find(CauseContext& context) {
  const JudgeInput& input = *context.input;
  if (context.before == nullptr || context.contract->damaged || !context.contract->stored_known) {
    return std::nullopt;
  }
  const StoredCheckpoint* broken = FirstUnsound(input);
  const bool came_back = context.verdict == Verdict::kDiverged ||
                         context.verdict == Verdict::kShort || context.verdict == Verdict::kOverrun;
  if (broken == nullptr || (came_back && context.compare.loaded != broken)) {
    return std::nullopt;
  }
  const std::vector<StoryEvent> story = StoryOf(*context.before);
  const auto publish = std::find_if(story.begin(), story.end(), [&](const StoryEvent& event) {
    return event.operation != nullptr && Publishes(*event.operation, broken->name);
  });
  if (publish == story.end()) {
    return std::nullopt;
  }
  const std::string published = Show(*publish->operation);
  for (const std::string& file : broken->missing_files) {
    if (!WasRemoved(story, file)) {
      return CauseFinding{kPublished, fmt::format("{} was visible after {}, and its file {} was "
                                                  "never there",
                                                  broken->name, published, file)};
    }
  }
  const auto late = std::find_if(publish + 1, story.end(), [&](const StoryEvent& event) {
    return event.operation != nullptr && Fills(*event.operation) &&
           (LiesBelow(event.operation->path, broken->name) ||
            LiesBelow(event.operation->second_path, broken->name));
  });
  if (late == story.end()) {
    return std::nullopt;
  }
  return CauseFinding{
      kPublished, fmt::format("{} was visible after {}, and {} came later; it cannot be read: {}",
                              broken->name, published, Show(*late->operation), broken->error)};
}

}  // namespace

CauseRule CheckpointPublishedRule() { return {{kPublished}, "D0, D1", Find}; }

}  // namespace reprise
