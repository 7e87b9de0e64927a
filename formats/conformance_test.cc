// What every checkpoint format promises, tested on each entry of formats.inc.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "formats/checkpoint_format.h"
#include "formats/format_testing.h"
#include "harness/base/files.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;
using testing::State;
using testing::Tensor;

class FormatConformanceTest : public ::testing::TestWithParam<std::string> {
 protected:
  // The reader of the checkpoint that a restart would use first.
  std::unique_ptr<CheckpointReader> OpenFirst() {
    const auto list = format_->List(Folder());
    EXPECT_TRUE(list && !list->empty());
    auto reader = format_->Open(Folder(), list->front().name);
    EXPECT_TRUE(reader) << reader.error().ToString();
    return *std::move(reader);
  }

  [[nodiscard]] const fs::path& Folder() const { return folder_.Path(); }

  // The error of the first checkpoint: at the opening or at the verification.
  std::optional<Error> FirstError() {
    const auto list = format_->List(Folder());
    if (!list || list->empty()) {
      return Error{ErrorCode::kNotFound, "nothing is listed"};
    }
    auto reader = format_->Open(Folder(), list->front().name);
    if (!reader) {
      return reader.error();
    }
    const Status verified = (*reader)->Verify();
    return verified ? std::nullopt : std::optional(verified.error());
  }

  std::vector<std::int64_t> ListedSteps() {
    std::vector<std::int64_t> steps;
    const auto list = format_->List(Folder());
    EXPECT_TRUE(list);
    for (const CheckpointRef& ref : *list) {
      steps.push_back(ref.step);
    }
    return steps;
  }

  void MustSave(const State& state, std::int64_t step, int world) {
    const Status saved = testing::Save(*format_, Folder(), state, step, world);
    ASSERT_TRUE(saved) << saved.error().ToString();
  }

  testing::TemporaryFolder folder_;
  std::unique_ptr<CheckpointFormat> format_ = FindFormat(GetParam())->make();
};

State SmallState(std::uint64_t seed) {
  Random random(seed);
  return {{"weight/a", testing::RandomTensor(DType::kF32, {3, 2}, &random)},
          {"exp_avg/a", testing::RandomTensor(DType::kF32, {3, 2}, &random)},
          {"rng/torch", testing::RandomTensor(DType::kU8, {5}, &random)}};
}

TEST_P(FormatConformanceTest, ListsNothingInAnEmptyOrAbsentFolder) {
  EXPECT_TRUE(ListedSteps().empty());
  const auto absent = format_->List(Folder() / "absent");
  ASSERT_TRUE(absent);
  EXPECT_TRUE(absent->empty());
  const auto opened = format_->Open(Folder(), "step-00000001");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::kNotFound);
}

TEST_P(FormatConformanceTest, GivesBackOddTensorsBitForBitAtAnyPairOfWorldSizes) {
  const State state = testing::OddState();
  for (int writers = 1; writers <= 4; ++writers) {
    MustSave(state, writers, writers);
    for (int readers = 1; readers <= 5; ++readers) {
      const auto loaded = testing::Load(OpenFirst().get(), state, readers);
      ASSERT_TRUE(loaded) << loaded.error().ToString();
      EXPECT_EQ(*loaded, state) << writers << " -> " << readers;
    }
  }
}

TEST_P(FormatConformanceTest, GivesBackTheTrainingState) {
  MustSave(SmallState(1), 7, 2);
  EXPECT_EQ(OpenFirst()->GetTrainingState(), testing::TrainingStateOf(7));
}

TEST_P(FormatConformanceTest, ListsTheNewestSaveFirstAndItHoldsItsOwnState) {
  MustSave(SmallState(1), 10, 2);
  MustSave(SmallState(2), 20, 3);
  EXPECT_EQ(ListedSteps(), (std::vector<std::int64_t>{20, 10}));
  const auto loaded = testing::Load(OpenFirst().get(), SmallState(2), 1);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(*loaded, SmallState(2));
}

TEST_P(FormatConformanceTest, ReplacesAPublishedCheckpointOfTheSameStep) {
  MustSave(SmallState(1), 10, 4);
  MustSave(SmallState(2), 10, 1);
  EXPECT_EQ(ListedSteps(), (std::vector<std::int64_t>{10}));
  const auto loaded = testing::Load(OpenFirst().get(), SmallState(2), 2);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(*loaded, SmallState(2));
}

TEST_P(FormatConformanceTest, DoesNotShowAnInterruptedSave) {
  MustSave(SmallState(1), 10, 2);
  ASSERT_TRUE(testing::WriteShards(*format_, Folder(), SmallState(2), 20, 2, testing::SplitRows));
  EXPECT_EQ(ListedSteps(), (std::vector<std::int64_t>{10}));
}

TEST_P(FormatConformanceTest, SavesAgainAfterAnInterruptedSaveOfAnotherWorldSize) {
  ASSERT_TRUE(testing::WriteShards(*format_, Folder(), SmallState(1), 20, 4, testing::SplitRows));
  MustSave(SmallState(2), 20, 2);
  const auto loaded = testing::Load(OpenFirst().get(), SmallState(2), 3);
  ASSERT_TRUE(loaded);
  EXPECT_EQ(*loaded, SmallState(2));
  for (const auto& [path, content] : testing::FilesIn(Folder())) {
    EXPECT_EQ(path.find("of-00004"), std::string::npos) << path;
  }
}

TEST_P(FormatConformanceTest, KeepsTheNewestAndRemovesLeftovers) {
  for (std::int64_t step = 10; step <= 40; step += 10) {
    ASSERT_TRUE(
        testing::WriteShards(*format_, Folder(), SmallState(9), step - 5, 2, testing::SplitRows));
    MustSave(SmallState(1), step, 2);
  }
  ASSERT_TRUE(testing::WriteShards(*format_, Folder(), SmallState(9), 45, 2, testing::SplitRows));
  ASSERT_TRUE(format_->Collect(Folder(), 2));
  EXPECT_EQ(ListedSteps(), (std::vector<std::int64_t>{40, 30}));
  // Of the others nothing is left, but a later save that another rank may be writing is.
  for (const auto& [path, content] : testing::FilesIn(Folder())) {
    const bool expected = path.find("40") != std::string::npos ||
                          path.find("30") != std::string::npos ||
                          path.find("45") != std::string::npos || path == "latest";
    EXPECT_TRUE(expected) << path;
  }
  EXPECT_FALSE(format_->Collect(Folder(), 0));
}

TEST_P(FormatConformanceTest, NeverRemovesTheLastCheckpointThatOpens) {
  MustSave(SmallState(1), 10, 2);
  MustSave(SmallState(2), 20, 2);
  const Layout layout = OpenFirst()->GetLayout();
  ASSERT_TRUE(fs::remove(Folder() / layout.regions.back().file));
  ASSERT_TRUE(format_->Collect(Folder(), 1));
  const auto good = format_->Open(Folder(), format_->List(Folder())->back().name);
  ASSERT_TRUE(good) << good.error().ToString();
  EXPECT_TRUE((*good)->Verify());
}

TEST_P(FormatConformanceTest, LayoutCoversEveryByteOfEveryFileOnce) {
  MustSave(testing::OddState(), 10, 3);
  Layout layout = OpenFirst()->GetLayout();
  const auto pointer = format_->FolderLayout(Folder());
  ASSERT_TRUE(pointer);
  layout.regions.insert(layout.regions.end(), pointer->regions.begin(), pointer->regions.end());
  std::map<std::string, std::int64_t> end;
  for (const LayoutRegion& region : layout.regions) {
    EXPECT_EQ(end[region.file], region.offset_bytes) << region.file;
    EXPECT_GT(region.length_bytes, 0) << region.file;
    end[region.file] += region.length_bytes;
  }
  std::map<std::string, std::int64_t> sizes;
  for (const auto& [path, content] : testing::FilesIn(Folder())) {
    sizes[path] = static_cast<std::int64_t>(content.size());
  }
  EXPECT_EQ(end, sizes);
}

TEST_P(FormatConformanceTest, LayoutNamesWhatEachSliceHolds) {
  const State state = testing::OddState();
  MustSave(state, 10, 3);
  const auto reader = OpenFirst();
  std::map<std::string, std::int64_t> elements;
  for (const LayoutRegion& region : reader->GetLayout().regions) {
    if (region.kind != RegionKind::kTensorData) {
      continue;
    }
    const Tensor& tensor = state.at(region.tensor);
    EXPECT_EQ(region.dtype, tensor.dtype);
    EXPECT_EQ(region.global_shape, tensor.shape);
    const std::string expected = testing::Cut(tensor, region.slice);
    EXPECT_EQ(reader->ReadRegion(region).value(), expected);
    EXPECT_EQ(ReadFileRange(Folder() / region.file, static_cast<std::uint64_t>(region.offset_bytes),
                            static_cast<std::uint64_t>(region.length_bytes))
                  .value(),
              expected);
    elements[region.tensor] += *ElementCount(region.slice.extents);
  }
  for (const auto& [key, tensor] : state) {
    EXPECT_EQ(elements[key], *ElementCount(tensor.shape)) << key;
  }
  EXPECT_FALSE(reader->ReadRegion({}));
}

TEST_P(FormatConformanceTest, RefusesAFlippedBitAnywhereAndNamesTheFile) {
  MustSave(SmallState(1), 10, 2);
  const std::string name = format_->List(Folder())->front().name;
  ASSERT_FALSE(FirstError());
  for (const auto& [path, content] : testing::FilesIn(Folder() / name)) {
    for (std::size_t at = 0; at < content.size(); at += 3) {
      std::string damaged = content;
      damaged[at] = static_cast<char>(damaged[at] ^ 1 << (at % 8));
      testing::Overwrite(Folder() / name / path, damaged);
      const std::optional<Error> error = FirstError();
      ASSERT_TRUE(error) << path << " byte " << at;
      EXPECT_EQ(error->code, ErrorCode::kCorrupt) << error->ToString();
      EXPECT_NE(error->ToString().find(path), std::string::npos) << error->ToString();
    }
    testing::Overwrite(Folder() / name / path, content);
  }
  EXPECT_FALSE(FirstError());
}

TEST_P(FormatConformanceTest, RefusesTruncatedExtendedEmptyAndMissingFiles) {
  MustSave(SmallState(1), 10, 2);
  const std::string name = format_->List(Folder())->front().name;
  for (const auto& [path, content] : testing::FilesIn(Folder() / name)) {
    const std::vector<std::string> damages = {"", content.substr(0, content.size() / 2),
                                              content.substr(0, content.size() - 1), content + '\0',
                                              content + content};
    for (const std::string& damaged : damages) {
      testing::Overwrite(Folder() / name / path, damaged);
      const std::optional<Error> error = FirstError();
      ASSERT_TRUE(error) << path << " of " << damaged.size() << " bytes";
      EXPECT_NE(error->ToString().find(path), std::string::npos) << error->ToString();
    }
    fs::remove(Folder() / name / path);
    const std::optional<Error> error = FirstError();
    ASSERT_TRUE(error) << path;
    EXPECT_EQ(error->code, ErrorCode::kCorrupt) << error->ToString();
    EXPECT_NE(error->ToString().find(path), std::string::npos) << error->ToString();
    ASSERT_TRUE(WriteFileAtomically(Folder() / name / path, content));
  }
  EXPECT_FALSE(FirstError());
}

TEST_P(FormatConformanceTest, NamesTheFilesThatACheckpointDemandsAlsoWhenOneIsMissing) {
  MustSave(SmallState(1), 10, 2);
  const std::string name = format_->List(Folder())->front().name;
  const auto demanded = format_->DemandedFiles(Folder(), name);
  ASSERT_TRUE(demanded) << demanded.error().ToString();
  ASSERT_FALSE(demanded->empty());
  for (const std::string& file : *demanded) {
    EXPECT_TRUE(fs::exists(Folder() / file)) << file;
  }
  fs::remove(Folder() / demanded->back());
  const auto still_demanded = format_->DemandedFiles(Folder(), name);
  ASSERT_TRUE(still_demanded);
  EXPECT_EQ(*still_demanded, *demanded);
  EXPECT_TRUE(FirstError());
}

TEST_P(FormatConformanceTest, RefusesFilesOfAnotherStepAndSwappedFiles) {
  MustSave(SmallState(1), 10, 2);
  MustSave(SmallState(2), 20, 2);
  const auto list = format_->List(Folder());
  const auto current = testing::FilesIn(Folder() / list->front().name);
  const auto stale = testing::FilesIn(Folder() / list->back().name);
  for (const auto& [path, content] : current) {
    for (const auto& [other_path, other] : current) {
      const std::string& wrong = other_path == path ? stale.at(path) : other;
      testing::Overwrite(Folder() / list->front().name / path, wrong);
      const std::optional<Error> error = FirstError();
      ASSERT_TRUE(error) << other_path << " in place of " << path;
      EXPECT_NE(error->ToString().find(path), std::string::npos) << error->ToString();
    }
    testing::Overwrite(Folder() / list->front().name / path, content);
  }
}

TEST_P(FormatConformanceTest, DoesWithoutAPointerThatIsDamaged) {
  MustSave(SmallState(1), 10, 1);
  MustSave(SmallState(2), 20, 1);
  const auto layout = format_->FolderLayout(Folder());
  ASSERT_TRUE(layout);
  for (const LayoutRegion& region : layout->regions) {
    const std::string content = ReadFile(Folder() / region.file, 1 << 20).value();
    std::vector<std::string> damages = {"", "step-00000099\n", std::string(100000, '\xFF')};
    for (std::size_t at = 0; at < content.size(); ++at) {
      damages.push_back(content);
      damages.back()[at] = static_cast<char>(damages.back()[at] ^ 1 << (at % 8));
    }
    for (const std::string& damaged : damages) {
      testing::Overwrite(Folder() / region.file, damaged);
      EXPECT_EQ(ListedSteps(), (std::vector<std::int64_t>{20, 10})) << damaged;
    }
    fs::remove(Folder() / region.file);
    EXPECT_EQ(ListedSteps(), (std::vector<std::int64_t>{20, 10}));
  }
}

TEST_P(FormatConformanceTest, ListsADamagedCheckpointAsACandidateThatDoesNotOpen) {
  MustSave(SmallState(1), 10, 1);
  MustSave(SmallState(2), 20, 1);
  const std::string name = format_->List(Folder())->front().name;
  for (const auto& [path, content] : testing::FilesIn(Folder() / name)) {
    fs::remove(Folder() / name / path);
  }
  EXPECT_EQ(ListedSteps(), (std::vector<std::int64_t>{20, 10}));
  EXPECT_FALSE(format_->Open(Folder(), name));
}

TEST_P(FormatConformanceTest, SaysWhatABoxLacks) {
  MustSave(SmallState(1), 10, 2);
  const auto reader = OpenFirst();
  std::vector<std::byte> room(24);
  const Slice whole = Slice::Whole({3, 2});
  EXPECT_TRUE(reader->Read("weight/a", whole, room));
  EXPECT_EQ(reader->Read("weight/b", whole, room).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(reader->Read("weight/a", {{1, 0}, {3, 2}}, room).error().code,
            ErrorCode::kInvalidInput);
  EXPECT_EQ(reader->Read("weight/a", {{0}, {3}}, room).error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(reader->Read("weight/a", whole, std::span(room).first(23)).error().code,
            ErrorCode::kInvalidInput);
}

TEST_P(FormatConformanceTest, DoesNotInventWhatNoRankStored) {
  const Tensor tensor = SmallState(1).at("weight/a");
  const std::string data = testing::Cut(tensor, {{1, 0}, {2, 2}});
  const StateEntry entry{.key = "weight/a",
                         .dtype = tensor.dtype,
                         .global_shape = tensor.shape,
                         .slice = {{1, 0}, {2, 2}},
                         .data = std::as_bytes(std::span(data))};
  const ShardAddress address{.step = 1};
  const auto summary = format_->WriteShard(Folder(), address, {&entry, 1});
  ASSERT_TRUE(summary);
  ASSERT_TRUE(format_->Publish(Folder(), address, {&*summary, 1}, {}));
  std::vector<std::byte> room(24);
  const auto reader = OpenFirst();
  EXPECT_EQ(reader->Read("weight/a", Slice::Whole({3, 2}), room).error().code,
            ErrorCode::kNotFound);
  EXPECT_TRUE(reader->Read("weight/a", {{1, 1}, {2, 1}}, std::span(room).first(8)));
}

TEST_P(FormatConformanceTest, RefusesEntriesThatBreakTheirRules) {
  const std::vector<std::byte> data(24);
  const StateEntry good{.key = "a",
                        .dtype = DType::kF32,
                        .global_shape = {3, 2},
                        .slice = Slice::Whole({3, 2}),
                        .data = data};
  std::vector<StateEntry> wrong(6, good);
  wrong[0].key = "";
  wrong[1].key = "\xFF\xFE";
  wrong[2].slice.offsets = {1, 0};
  wrong[3].data = wrong[3].data.first(23);
  wrong[4].global_shape = {INT64_MAX, INT64_MAX};
  wrong[5].slice.extents = {3};
  for (const StateEntry& entry : wrong) {
    const auto summary = format_->WriteShard(Folder(), {.step = 1}, {&entry, 1});
    ASSERT_FALSE(summary);
    EXPECT_EQ(summary.error().code, ErrorCode::kInvalidInput) << summary.error().ToString();
  }
  EXPECT_FALSE(format_->WriteShard(Folder(), {.step = 1, .rank = 2, .world = 2}, {&good, 1}));
  EXPECT_TRUE(format_->WriteShard(Folder(), {.step = 1}, {&good, 1}));
}

TEST_P(FormatConformanceTest, RefusesToPublishSummariesThatDoNotFit) {
  const auto whole = [](const Shape& shape, int, int) { return Slice::Whole(shape); };
  const auto summaries = testing::WriteShards(*format_, Folder(), SmallState(1), 5, 2, whole);
  ASSERT_TRUE(summaries);
  const ShardAddress address{.step = 5, .rank = 0, .world = 2};
  // Both ranks hold all of each tensor.
  EXPECT_FALSE(format_->Publish(Folder(), address, *summaries, {}));
  const auto good =
      testing::WriteShards(*format_, Folder(), SmallState(1), 5, 2, testing::SplitRows);
  ASSERT_TRUE(good);
  const std::vector<ShardSummary> swapped = {(*good)[1], (*good)[0]};
  EXPECT_FALSE(format_->Publish(Folder(), address, swapped, {}));
  EXPECT_FALSE(format_->Publish(Folder(), address, {good->data(), 1}, {}));
  EXPECT_FALSE(format_->Publish(Folder(), {.step = 6, .rank = 0, .world = 2}, *good, {}));
  EXPECT_FALSE(format_->Publish(Folder(), address, *good, {{"name", "\xFF"}}));
  EXPECT_TRUE(ListedSteps().empty());
  EXPECT_TRUE(format_->Publish(Folder(), address, *good, {}));
}

// Laws. Sizes shrink, and the seed is printed by RapidCheck.

State ArbitraryState() {
  State state;
  const int count = *rc::gen::inRange(0, 4);
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  for (int i = 0; i < count; ++i) {
    const auto dtype = *rc::gen::element(DType::kU8, DType::kBF16, DType::kF32, DType::kI64);
    const auto shape =
        *rc::gen::resize(4, rc::gen::container<Shape>(rc::gen::inRange<std::int64_t>(0, 6)));
    state["weight/" + std::to_string(i)] = testing::RandomTensor(dtype, shape, &random);
  }
  return state;
}

testing::Split ArbitrarySplit() {
  return *rc::gen::arbitrary<bool>() ? testing::SplitRows : testing::SplitLastUnevenly;
}

TEST_P(FormatConformanceTest, LawReshardingThereAndBackChangesNoBit) {
  EXPECT_TRUE(rc::check("A -> B -> A", [this] {
    const State state = ArbitraryState();
    const int a = *rc::gen::inRange(1, 6);
    const int b = *rc::gen::inRange(1, 6);
    RC_ASSERT(testing::Save(*format_, Folder(), state, 1, a, ArbitrarySplit()).has_value());
    const State there = testing::Load(OpenFirst().get(), state, b, ArbitrarySplit()).value();
    RC_ASSERT(testing::Save(*format_, Folder(), there, 1, b, ArbitrarySplit()).has_value());
    const auto back = testing::Load(OpenFirst().get(), state, a, ArbitrarySplit());
    RC_ASSERT(back.has_value());
    RC_ASSERT(*back == state);
  }));
}

TEST_P(FormatConformanceTest, LawAPartialLoadEqualsTheSlice) {
  EXPECT_TRUE(rc::check("Read(box) == Cut(box)", [this] {
    const State state = ArbitraryState();
    const int world = *rc::gen::inRange(1, 5);
    RC_ASSERT(testing::Save(*format_, Folder(), state, 1, world, ArbitrarySplit()).has_value());
    const auto reader = OpenFirst();
    for (const auto& [key, tensor] : state) {
      Slice box;
      for (const std::int64_t extent : tensor.shape) {
        box.offsets.push_back(*rc::gen::inRange<std::int64_t>(0, extent + 1));
        box.extents.push_back(*rc::gen::inRange<std::int64_t>(0, extent - box.offsets.back() + 1));
      }
      const std::string expected = testing::Cut(tensor, box);
      std::string part(expected.size(), '\x55');
      RC_ASSERT(reader->Read(key, box, std::as_writable_bytes(std::span(part))).has_value());
      RC_ASSERT(part == expected);
    }
  }));
}

std::vector<std::string> FormatNames() {
  std::vector<std::string> names;
  for (const FormatInfo& format : AllFormats()) {
    names.push_back(format.name);
  }
  return names;
}

std::string TestName(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(AllFormats, FormatConformanceTest, ::testing::ValuesIn(FormatNames()),
                         TestName);

TEST(FormatRegistryTest, FindsFormatsByNameAndDescribesThem) {
  for (const FormatInfo& format : AllFormats()) {
    EXPECT_EQ(FindFormat(format.name), &format);
    EXPECT_FALSE(format.help.empty());
  }
  EXPECT_EQ(FindFormat("no such format"), nullptr);
}

}  // namespace
}  // namespace reprise
