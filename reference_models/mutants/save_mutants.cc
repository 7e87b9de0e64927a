// Faults in how a checkpoint is saved and found.
//
// Two of them write a shard beside the checkpoint folder first and bring it to its place too late,
// or in a way that destroys what was there. The place beside is "<folder>.scratch".

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>

#include "formats/checkpoint_index.h"
#include "formats/durable_files.h"
#include "harness/base/files.h"
#include "reference_models/mutants/mutant.h"
#include "reference_models/saver.h"

namespace reprise::models {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxFileBytes = 1 << 30;

std::string Scratch(const std::string& folder) { return folder + ".scratch"; }

Status Copy(const fs::path& from, const fs::path& to) {
  REPRISE_ASSIGN_OR_RETURN(const std::string content, ReadFile(from, kMaxFileBytes));
  const std::string_view piece = content;
  return WriteDurably(to, {&piece, 1});
}

Status ErrorOf(const Result<ShardSummary>& summary) {
  if (summary) return {};
  return tl::make_unexpected(summary.error());
}

// Rank 0 publishes, and announces the save, as soon as it knows what the others are going to write.
class PublishedEarly final : public ShardedSaver {
 public:
  using ShardedSaver::ShardedSaver;

  Status Save(const SaveRequest& request, const StateView& part, Collective& collective) override {
    const int rank = collective.Rank();
    const ShardAddress address = {.step = request.step, .rank = rank, .world = collective.World()};
    const std::string own =
        rank == 0 ? request.folder : fmt::format("{}/{}", Scratch(request.folder), rank);
    const auto entries = EntriesOf(part);
    const auto summary = format_->WriteShard(own, address, entries);
    REPRISE_RETURN_IF_ERROR(AgreeOn(collective, ErrorOf(summary)));
    REPRISE_ASSIGN_OR_RETURN(const auto summaries, AllGatherTexts(collective, *summary));
    if (rank != 0) return Deliver(own, request, address);
    REPRISE_RETURN_IF_ERROR(format_->Collect(request.folder, request.keep));
    return format_->Publish(request.folder, address, summaries, part.scalars);
  }

 private:
  static Status Deliver(const std::string& own, const SaveRequest& request,
                        const ShardAddress& address) {
    const std::string step = fmt::format("step-{:08}", request.step);
    const std::string shard = ShardName(address.rank, address.world);
    const fs::path published = fs::path(request.folder) / step;
    REPRISE_RETURN_IF_ERROR(AwaitFolder(published));
    REPRISE_RETURN_IF_ERROR(Copy(fs::path(own) / (step + ".partial") / shard, published / shard));
    return RemoveTree(own);
  }

  static Status AwaitFolder(const fs::path& folder) {
    constexpr int kTries = 5'000;
    for (int i = 0; i < kTries; ++i) {
      std::error_code error;
      if (fs::exists(folder, error)) return {};
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    return Fail(ErrorCode::kDeadline, "rank 0 did not publish within 10 s", folder.string());
  }
};

constexpr const char* kOnePath = "current";
constexpr const char* kNameFile = "name";

// Every save goes to the same files, emptied when they are opened.
class OverwriteInPlace final : public ShardedSaver {
 public:
  using ShardedSaver::ShardedSaver;

  Status Save(const SaveRequest& request, const StateView& part, Collective& collective) override {
    const SaveRequest beside = {.folder = Scratch(request.folder), .step = request.step, .keep = 1};
    REPRISE_RETURN_IF_ERROR(ShardedSaver::Save(beside, part, collective));
    const fs::path from = fs::path(beside.folder) / fmt::format("step-{:08}", request.step);
    const fs::path to = fs::path(request.folder) / kOnePath;
    const std::string shard = ShardName(collective.Rank(), collective.World());
    REPRISE_RETURN_IF_ERROR(MakeFolders(request.folder));
    REPRISE_RETURN_IF_ERROR(MakeFolder(to));
    REPRISE_RETURN_IF_ERROR(AgreeOn(collective, Copy(from / shard, to / shard)));
    Status done;
    if (collective.Rank() == 0) done = CopyIndex(from, to);
    return AgreeOn(collective, done);
  }

 private:
  static Status CopyIndex(const fs::path& from, const fs::path& to) {
    for (const char* file : {"index.json", "COMMIT"}) {
      REPRISE_RETURN_IF_ERROR(Copy(from / file, to / file));
    }
    const std::string name = from.filename().string();
    const std::string_view piece = name;
    return WriteDurably(to / kNameFile, {&piece, 1});
  }
};

// Reads what OverwriteInPlace writes.
class OnePathRestorer final : public NewestFirstRestorer {
 public:
  using NewestFirstRestorer::NewestFirstRestorer;

  Result<Restored> Restore(const std::string& folder, const std::vector<Component*>& components,
                           Collective& collective) override {
    Status fetched;
    if (collective.Rank() == 0) fetched = Fetch(folder);
    REPRISE_RETURN_IF_ERROR(AgreeOn(collective, fetched));
    return NewestFirstRestorer::Restore(Scratch(folder), components, collective);
  }

 private:
  static Status Fetch(const std::string& folder) {
    const fs::path from = fs::path(folder) / kOnePath;
    REPRISE_RETURN_IF_ERROR(RemoveTree(Scratch(folder)));
    std::error_code ignored;
    if (!fs::exists(from, ignored)) return {};
    REPRISE_ASSIGN_OR_RETURN(const std::string name, ReadFile(from / kNameFile, 4096));
    if (name.find('/') != std::string::npos || name.empty()) {
      return Fail(ErrorCode::kCorrupt, "expected the name of a checkpoint",
                  (from / kNameFile).string());
    }
    REPRISE_RETURN_IF_ERROR(MakeFolders(Scratch(folder)));
    return CopyTree(from, fs::path(Scratch(folder)) / name);
  }
};

// Names are compared as text, and without leading zeros 9 comes after 12.
class StringSort final : public NewestFirstRestorer {
 public:
  using NewestFirstRestorer::NewestFirstRestorer;

 protected:
  [[nodiscard]] Result<std::vector<CheckpointRef>> Candidates(
      const std::string& folder) const override {
    REPRISE_ASSIGN_OR_RETURN(auto refs, format_->List(folder));
    std::sort(refs.begin(), refs.end(), [](const CheckpointRef& a, const CheckpointRef& b) {
      return std::to_string(a.step) > std::to_string(b.step);
    });
    return refs;
  }
};

// A checkpoint that cannot be read is taken for none.
class SilentFreshStart final : public NewestFirstRestorer {
 public:
  using NewestFirstRestorer::NewestFirstRestorer;

 protected:
  [[nodiscard]] Result<std::vector<CheckpointRef>> Candidates(
      const std::string& folder) const override {
    REPRISE_ASSIGN_OR_RETURN(auto refs, format_->List(folder));
    const bool usable = !refs.empty() && IsWhole(folder, refs.front().name);
    refs.resize(usable ? 1 : 0);
    return refs;
  }

 private:
  [[nodiscard]] bool IsWhole(const std::string& folder, const std::string& name) const {
    const auto reader = format_->Open(folder, name);
    return reader && (*reader)->Verify();
  }
};

template <typename T>
std::unique_ptr<Saver> MakeSaver(FormatPtr format) {
  return std::make_unique<T>(std::move(format));
}

template <typename T>
std::unique_ptr<Restorer> MakeRestorer(FormatPtr format) {
  return std::make_unique<T>(std::move(format));
}

}  // namespace

MutantInfo PublishedEarlyMutant() {
  return {"published-early", "M82", "rank 0 publishes before the other ranks have written",
          [](Recipe& recipe) { recipe.saver = MakeSaver<PublishedEarly>; }};
}

MutantInfo OverwriteInPlaceMutant() {
  return {"overwrite-in-place", "M78", "one path, emptied when it is opened, no rename",
          [](Recipe& recipe) {
            recipe.saver = MakeSaver<OverwriteInPlace>;
            recipe.restorer = MakeRestorer<OnePathRestorer>;
          }};
}

MutantInfo StringSortMutant() {
  return {"string-sort", "M84", "the newest checkpoint is chosen by comparing steps as text",
          [](Recipe& recipe) { recipe.restorer = MakeRestorer<StringSort>; }};
}

MutantInfo SilentFreshStartMutant() {
  return {"silent-fresh-start", "M86", "an unusable checkpoint leads to step 0 without an error",
          [](Recipe& recipe) { recipe.restorer = MakeRestorer<SilentFreshStart>; }};
}

}  // namespace reprise::models
