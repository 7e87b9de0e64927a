// Every damage of injectors.inc against a real checkpoint folder of every format of formats.inc: it
// fires, it says what it changed, and what it leaves is refused or harmless. A new entry of either
// list is tested at once.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <system_error>

#include "formats/checkpoint_format.h"
#include "formats/format_testing.h"
#include "harness/base/files.h"
#include "injectors/injector.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using testing::State;

constexpr int kWorld = 2;
constexpr std::int64_t kOlder = 4;
constexpr std::int64_t kNewest = 8;

State StateOf(std::int64_t step) {
  Random random(static_cast<std::uint64_t>(step));
  return {{"weight/a", testing::RandomTensor(DType::kF32, {5, 3}, &random)},
          {"exp_avg/a", testing::RandomTensor(DType::kF32, {5, 3}, &random)},
          {"rng/torch", testing::RandomTensor(DType::kU8, {5}, &random)}};
}

// The fault with its defaults and each other choice of a parameter that is no part of the aim.
std::vector<Fault> VariantsOf(const InjectorInfo& info) {
  std::vector<Fault> faults = {{.kind = info.name}};
  for (const ParamSpec& spec : info.params) {
    for (const std::string& choice : spec.choices) {
      const bool is_aim = spec.name == "checkpoint" || spec.name == "region";
      if (!is_aim && choice != spec.fallback) {
        faults.push_back({.kind = info.name, .params = {{spec.name, choice}}});
      }
    }
  }
  return faults;
}

// Each variant at each region that it can be aimed at, with a few draws.
std::vector<Fault> AimsOf(const InjectorInfo& info) {
  constexpr int kDraws = 3;
  const auto region = std::find_if(info.params.begin(), info.params.end(),
                                   [](const ParamSpec& spec) { return spec.name == "region"; });
  if (region == info.params.end()) {
    return VariantsOf(info);
  }
  std::vector<Fault> faults;
  for (Fault fault : VariantsOf(info)) {
    for (const std::string& choice : region->choices) {
      fault.params["region"] = choice;
      for (int draw = 0; draw < kDraws && ValidateFault(fault); ++draw) {
        fault.params["draw"] = std::to_string(draw);
        faults.push_back(fault);
      }
    }
  }
  return faults;
}

std::string ToText(const Fault& fault) {
  std::string text = fault.kind;
  for (const auto& [name, value] : fault.params) {
    text += " " + name + "=" + value;
  }
  return text;
}

// What can be seen of each name that is no folder: type, permissions, time, content.
std::map<std::string, std::string> Snapshot(const fs::path& folder) {
  std::map<std::string, std::string> seen;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = fs::relative(entry.path().parent_path(), folder) /
                             entry.path().filename();  // never through a link
    if (entry.is_symlink()) {
      seen[name] = "link to " + fs::read_symlink(entry.path()).string();
    } else if (entry.is_regular_file()) {
      const auto content = ReadFile(entry.path(), 1 << 20);
      seen[name] = std::to_string(static_cast<int>(entry.status().permissions())) + " " +
                   std::to_string(entry.last_write_time().time_since_epoch().count()) + " " +
                   (content ? *content : "unreadable");
    }
  }
  return seen;
}

std::set<std::string> Changed(const std::map<std::string, std::string>& before,
                              const std::map<std::string, std::string>& after) {
  std::set<std::string> changed;
  for (const auto& [name, seen] : before) {
    if (!after.contains(name) || after.at(name) != seen) {
      changed.insert(fs::path(name).lexically_normal().string());
    }
  }
  for (const auto& [name, seen] : after) {
    if (!before.contains(name)) {
      changed.insert(fs::path(name).lexically_normal().string());
    }
  }
  return changed;
}

class DamagedFormatTest : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  void SetUp() override { Fill(); }

  // Two checkpoints, nothing else.
  void Fill() {
    ASSERT_TRUE(RemoveTree(Folder()));
    for (const std::int64_t step : {kOlder, kNewest}) {
      ASSERT_TRUE(testing::Save(*format_, Folder(), StateOf(step), step, kWorld));
    }
  }

  [[nodiscard]] fs::path Folder() const { return folder_.Path() / "ckpt"; }
  [[nodiscard]] const InjectorInfo& Info() const { return *FindInjector(std::get<1>(GetParam())); }

  std::unique_ptr<Injector> Apply(const Fault& fault) {
    FolderContext context{.folder = Folder()};
    const auto refs = format_->List(Folder());
    for (const CheckpointRef& ref : *refs) {
      context.checkpoints.push_back((*format_->Open(Folder(), ref.name))->GetLayout());
    }
    context.folder_layout = *format_->FolderLayout(Folder());
    context.pointer_to = [this](const std::string& name) { return format_->PointerTo(name); };
    context.random = Random(11);
    auto injector = MakeInjector(fault);
    EXPECT_TRUE(injector) << injector.error().ToString();
    const Status status = (*injector)->OnFolder(context);
    EXPECT_TRUE(status) << ToText(fault) << ": " << status.error().ToString();
    return *std::move(injector);
  }

  // Loads one checkpoint whole; an error where any part of it is refused.
  Status LoadsAsSaved(const CheckpointRef& ref) {
    REPRISE_ASSIGN_OR_RETURN(const auto reader, format_->Open(Folder(), ref.name));
    REPRISE_RETURN_IF_ERROR(reader->Verify());
    REPRISE_ASSIGN_OR_RETURN(const State loaded, testing::Load(reader.get(), StateOf(0), kWorld));
    EXPECT_EQ(loaded == StateOf(ref.step), true) << ref.name << " was loaded and changed";
    EXPECT_EQ(reader->GetTrainingState(), testing::TrainingStateOf(ref.step)) << ref.name;
    return {};
  }

  testing::TemporaryFolder folder_;
  std::unique_ptr<CheckpointFormat> format_ = FindFormat(std::get<0>(GetParam()))->make();
};

TEST_P(DamagedFormatTest, FiresAndNamesExactlyTheFilesThatItChanged) {
  for (const Fault& fault : VariantsOf(Info())) {
    Fill();
    const auto before = Snapshot(Folder());
    const auto injector = Apply(fault);
    const std::set<std::string> damaged(injector->DamagedFiles().begin(),
                                        injector->DamagedFiles().end());
    EXPECT_EQ(Changed(before, Snapshot(Folder())), damaged) << ToText(fault);
    EXPECT_EQ(injector->Firings().empty(), damaged.empty()) << ToText(fault);
    EXPECT_NE(injector->Firings().empty(), injector->WhyNot().empty()) << ToText(fault);
    if (fault.params.empty()) {
      EXPECT_FALSE(injector->Firings().empty()) << injector->WhyNot();
    }
  }
}

TEST_P(DamagedFormatTest, WhatItLeavesIsRefusedOrHarmless) {
  for (const Fault& fault : AimsOf(Info())) {
    SCOPED_TRACE(ToText(fault));
    Fill();
    Apply(fault);
    const auto refs = format_->List(Folder());
    ASSERT_TRUE(refs) << refs.error().ToString();
    for (const CheckpointRef& ref : *refs) {
      if (const Status loaded = LoadsAsSaved(ref); !loaded) {
        EXPECT_FALSE(loaded.error().where.empty()) << loaded.error().message;
      }
    }
  }
}

// A training that fell back makes the damaged step again; the damage must not outlive that.
TEST_P(DamagedFormatTest, TheDamagedStepCanBeSavedAgainAndTheOlderOneCollected) {
  for (const Fault& fault : AimsOf(Info())) {
    SCOPED_TRACE(ToText(fault));
    Fill();
    Apply(fault);
    const Status saved = testing::Save(*format_, Folder(), StateOf(kNewest), kNewest, kWorld);
    ASSERT_TRUE(saved) << saved.error().ToString();
    const Status collected = format_->Collect(Folder(), 1);
    ASSERT_TRUE(collected) << collected.error().ToString();
    const auto refs = format_->List(Folder());
    ASSERT_TRUE(refs && refs->size() == 1U);
    EXPECT_EQ(refs->front().step, kNewest);
    EXPECT_TRUE(LoadsAsSaved(refs->front()));
  }
}

std::vector<std::string> DamageNames() {
  std::vector<std::string> names;
  for (const InjectorInfo& info : AllInjectors()) {
    if (info.stage == InjectorStage::kFolder) {
      names.push_back(info.name);
    }
  }
  return names;
}

std::vector<std::string> FormatNames() {
  std::vector<std::string> names;
  for (const FormatInfo& info : AllFormats()) {
    names.push_back(info.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(
    All, DamagedFormatTest,
    ::testing::Combine(::testing::ValuesIn(FormatNames()), ::testing::ValuesIn(DamageNames())),
    [](const auto& test) {
      std::string name = std::get<0>(test.param) + "_" + std::get<1>(test.param);
      std::replace_if(
          name.begin(), name.end(), [](char c) { return c == '.' || c == '-'; }, '_');
      return name;
    });

}  // namespace
}  // namespace reprise
