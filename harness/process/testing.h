// Helpers of this room's tests: folders of an attempt, victims, and events as short texts.

#ifndef REPRISE_HARNESS_PROCESS_TESTING_H_
#define REPRISE_HARNESS_PROCESS_TESTING_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/files.h"
#include "harness/explore/folder_state.h"
#include "harness/process/supervisor.h"

namespace reprise::testing {

// Fresh folders of one attempt; removed at the end.
class AttemptFolders {
 public:
  // In memory where that is possible: some tests make hundreds of fsyncs.
  AttemptFolders()
      : AttemptFolders(access("/dev/shm", W_OK) == 0 ? "/dev/shm"
                                                     : std::filesystem::temp_directory_path()) {}
  explicit AttemptFolders(const std::filesystem::path& base) {
    std::string pattern = (base / "reprise-process-XXXXXX").string();
    root_ = std::filesystem::canonical(mkdtemp(pattern.data()));
    for (const char* name : {"ckpt", "log", "out", "other"}) {
      std::filesystem::create_directory(root_ / name);
    }
  }
  AttemptFolders(const AttemptFolders&) = delete;
  AttemptFolders& operator=(const AttemptFolders&) = delete;
  ~AttemptFolders() { static_cast<void>(RemoveTree(root_)); }

  [[nodiscard]] std::filesystem::path Checkpoint() const { return root_ / "ckpt"; }
  [[nodiscard]] std::filesystem::path Other() const { return root_ / "other"; }
  [[nodiscard]] std::filesystem::path Output() const { return root_ / "out"; }

  // Every rank runs victim `name` with the checkpoint folder and `arguments`.
  [[nodiscard]] AttemptSpec Spec(const std::string& name, std::vector<std::string> arguments = {},
                                 int world = 1) const {
    AttemptSpec spec;
    std::vector<std::string> command = {std::string(REPRISE_VICTIMS) + "/" + name,
                                        Checkpoint().string()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    spec.commands.assign(static_cast<std::size_t>(world), command);
    spec.checkpoint_folder = Checkpoint();
    spec.logbook_folder = root_ / "log";
    spec.output_folder = Output();
    spec.timeout = std::chrono::seconds(60);
    return spec;
  }

 private:
  std::filesystem::path root_;
};

inline std::unique_ptr<Supervisor> MakeSupervisor(
    const std::vector<CallShape>& watched = WatchedCalls()) {
  auto supervisor = Supervisor::Create(watched);
  EXPECT_TRUE(supervisor) << supervisor.error().ToString();
  return supervisor ? std::move(*supervisor) : nullptr;
}

inline AttemptResult MustRun(Supervisor& supervisor, const AttemptSpec& spec) {
  auto result = supervisor.Run(spec);
  EXPECT_TRUE(result) << result.error().ToString();
  AttemptResult failed;
  failed.ranks.resize(spec.commands.size());
  return result ? std::move(*result) : failed;
}

inline std::vector<Operation> OperationsOf(const AttemptResult& result) {
  std::vector<Operation> operations;
  for (const AttemptEvent& event : result.events) {
    if (const auto* operation = std::get_if<OperationEvent>(&event)) {
      operations.push_back(operation->operation);
    }
  }
  return operations;
}

// "write(pwrite64) step-1/shard 4+3 \"abc\"": what matters of an operation, on one line.
inline std::string Short(const Operation& operation) {
  std::string text =
      std::string(ToText(operation.kind)) + "(" + operation.call + ") " + operation.path;
  if (!operation.second_path.empty()) {
    text += " -> " + operation.second_path;
  }
  switch (operation.kind) {
    case OperationKind::kOpen:
      text += std::string(operation.creates ? " creates" : "") +
              (operation.truncates ? " truncates" : "");
      break;
    case OperationKind::kWrite:
    case OperationKind::kAllocate:
    case OperationKind::kSyncRange:
    case OperationKind::kMapShared:
      text += " " + std::to_string(operation.offset_bytes) + "+" +
              std::to_string(operation.length_bytes);
      break;
    case OperationKind::kTruncate:
      text += " " + std::to_string(operation.length_bytes);
      break;
    case OperationKind::kRename:
      text += std::string(operation.excludes ? " excludes" : "") +
              (operation.exchanges ? " exchanges" : "");
      break;
    case OperationKind::kSync:
    case OperationKind::kLink:
    case OperationKind::kSymlink:
    case OperationKind::kUnlink:
    case OperationKind::kMakeFolder:
    case OperationKind::kRemoveFolder:
    case OperationKind::kAttributes:
      break;
  }
  if (!operation.data.empty()) {
    text += " \"" + operation.data + "\"";
  }
  return operation.result < 0 ? text + " fails" : text;
}

inline std::vector<std::string> ShortOperations(const AttemptResult& result) {
  std::vector<std::string> texts;
  for (const Operation& operation : OperationsOf(result)) {
    texts.push_back(Short(operation));
  }
  return texts;
}

constexpr std::uint64_t kMaxFolderBytes = 1U << 30U;

inline FolderState Found(const AttemptFolders& folders) {
  return *FolderState::Scan(folders.Checkpoint(), kMaxFolderBytes);
}

// What `found` has that the operations do not make out of an empty folder, and the other way round,
// in words.
inline std::vector<std::string> Contradictions(const std::vector<Operation>& operations,
                                               const FolderState& found) {
  FolderState predicted = *FolderState::Scan("/no-such-folder", kMaxFolderBytes);
  for (const Operation& operation : operations) {
    if (const Status applied = predicted.Apply(operation); !applied) {
      return {Short(operation) + ": " + applied.error().ToString()};
    }
  }
  return predicted.DifferencesFrom(found);
}

inline int CountBlindSpots(const AttemptResult& result, const std::string& part) {
  int count = 0;
  for (const std::string& text : result.blind_spots) {
    count += text.find(part) != std::string::npos ? 1 : 0;
  }
  return count;
}

inline std::string Joined(const std::vector<std::string>& texts) {
  std::string joined;
  for (const std::string& text : texts) {
    joined += text + "\n";
  }
  return joined;
}

inline std::string Content(const std::filesystem::path& path) {
  auto content = ReadFile(path, 1U << 30U);
  return content ? *content : "(" + content.error().ToString() + ")";
}

// Processes that have `marker` in their environment.
inline std::vector<std::string> ProcessesWith(const std::string& marker) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    std::ifstream file(entry.path() / "environ");
    const std::string environment((std::istreambuf_iterator<char>(file)), {});
    if (environment.find(marker) != std::string::npos) {
      found.push_back(entry.path().filename().string());
    }
  }
  return found;
}

// Acts once, at one operation or after the n-th record of a type.
class TestInjector final : public Injector {
 public:
  std::function<Action(const Operation&)> on_operation;
  std::function<Action(int, const LogRecord&)> on_record;

  Action OnOperation(const Operation& operation) override {
    return on_operation ? on_operation(operation) : Action::Continue();
  }
  Action OnRecord(int rank, const LogRecord& record) override {
    return on_record ? on_record(rank, record) : Action::Continue();
  }
};

}  // namespace reprise::testing

#endif  // REPRISE_HARNESS_PROCESS_TESTING_H_
