#include "injectors/damage.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "harness/base/files.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

// Two checkpoints of two ranks in a format that no one has seen: what injectors know of it are
// layouts.
class DamageTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "damage-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    context_.folder = root_ / "ckpt";
    context_.random = Random(7);
    AddCheckpoint("new", 'n', 8);
    AddCheckpoint("old", 'o', 4);
    Put("newest", "new");
    context_.folder_layout.regions = {
        {.file = "newest", .length_bytes = 3, .kind = RegionKind::kPointer}};
  }
  void TearDown() override { EXPECT_TRUE(RemoveTree(root_)); }

  void Put(const std::string& file, const std::string& content) const {
    ASSERT_TRUE(MakeFolders((context_.folder / file).parent_path()));
    ASSERT_TRUE(WriteFileAtomically(context_.folder / file, content));
  }
  [[nodiscard]] std::string Get(const std::string& file) const {
    const auto content = ReadFile(context_.folder / file, 1 << 20);
    return content ? *content : "absent";
  }

  void AddCheckpoint(const std::string& name, char fill, std::int64_t step) {
    Layout layout{.checkpoint = name, .step = step};
    for (int rank = 0; rank < 2; ++rank) {
      const std::string file = name + "/" + std::to_string(rank);
      Put(file, "head" + std::string(100, static_cast<char>(fill + rank * 16 - 'a' + 'A')));
      layout.regions.push_back(
          {.file = file, .length_bytes = 4, .kind = RegionKind::kHeader, .rank = rank});
      layout.regions.push_back({.file = file,
                                .offset_bytes = 4,
                                .length_bytes = 100,
                                .kind = RegionKind::kTensorData,
                                .rank = rank,
                                .tensor = "weight/w" + std::to_string(rank)});
    }
    Put(name + "/index", "index");
    layout.regions.push_back(
        {.file = name + "/index", .length_bytes = 5, .kind = RegionKind::kIndex});
    context_.checkpoints.push_back(std::move(layout));
  }

  std::unique_ptr<Injector> Apply(const std::string& kind,
                                  std::map<std::string, std::string> params) {
    auto injector = MakeInjector({.kind = kind, .params = std::move(params)});
    EXPECT_TRUE(injector) << (injector ? "" : injector.error().ToString());
    const Status status = (*injector)->OnFolder(context_);
    EXPECT_TRUE(status) << (status ? "" : status.error().ToString());
    return *std::move(injector);
  }

  fs::path root_;
  FolderContext context_;
};

int DifferingBits(const std::string& a, const std::string& b) {
  int bits = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    bits += __builtin_popcount(static_cast<unsigned>((a[i] ^ b[i]) & 0xFF));
  }
  return bits;
}

TEST_F(DamageTest, FlipChangesOneBitOfTheAimedTensor) {
  const std::string before = Get("new/1");
  const auto injector = Apply("damage.flip", {{"tensor", "weight/w1"}});
  EXPECT_EQ(DifferingBits(before, Get("new/1")), 1);
  EXPECT_EQ(Get("new/1").substr(0, 4), "head");
  EXPECT_EQ(injector->DamagedFiles(), std::vector<std::string>{"new/1"});
  ASSERT_EQ(injector->Firings().size(), 1U);
  EXPECT_NE(injector->Firings()[0].find("of new/1, tensor weight/w1, rank 1"), std::string::npos);
}

TEST_F(DamageTest, FlipReachesEveryByteOfARegion) {
  std::set<std::string> results;
  for (int draw = 0; draw < 200; ++draw) {
    Put("newest", "new");
    Apply("damage.flip", {{"region", "pointer"}, {"draw", std::to_string(draw)}});
    results.insert(Get("newest"));
  }
  EXPECT_EQ(results.size(), 24U);
}

TEST_F(DamageTest, TheSameSeedDamagesTheSameBit) {
  const std::string before = Get("new/0");
  Apply("damage.flip", {{"rank", "0"}});
  const std::string once = Get("new/0");
  EXPECT_NE(once, before);
  Apply("damage.flip", {{"rank", "0"}});
  EXPECT_EQ(Get("new/0"), before);
}

TEST_F(DamageTest, DropRemovesTheShardOfTheAimedRank) {
  Apply("damage.drop", {{"region", "tensor"}, {"rank", "0"}, {"checkpoint", "older"}});
  EXPECT_EQ(Get("old/0"), "absent");
  EXPECT_NE(Get("old/1"), "absent");
  EXPECT_NE(Get("new/0"), "absent");
}

TEST_F(DamageTest, TruncateKeepsWhatItSays) {
  Apply("damage.truncate", {{"region", "index"}});
  EXPECT_EQ(Get("new/index"), "in");
  Apply("damage.truncate", {{"region", "tensor"}, {"rank", "1"}, {"keep", "all-but-1"}});
  EXPECT_EQ(Get("new/1").size(), 103U);
  Apply("damage.truncate", {{"region", "pointer"}, {"keep", "0"}});
  EXPECT_EQ(Get("newest"), "");
}

TEST_F(DamageTest, StaleTakesTheSameShardOfThePreviousCheckpoint) {
  const std::string old = Get("old/1");
  const auto injector = Apply("damage.stale", {{"rank", "1"}});
  EXPECT_EQ(Get("new/1"), old);
  EXPECT_EQ(Get("old/1"), old);
  EXPECT_EQ(injector->Firings(), std::vector<std::string>{"replaced new/1 by old/1 of old"});
}

TEST_F(DamageTest, StaleIsNotFiredWithoutAPreviousCheckpointOrWhenItIsEqual) {
  EXPECT_TRUE(Apply("damage.stale", {{"checkpoint", "older"}})->Firings().empty());
  EXPECT_TRUE(Apply("damage.stale", {{"region", "index"}})->Firings().empty());
}

TEST_F(DamageTest, SwapExchangesTwoShards) {
  const std::string first = Get("new/0");
  const std::string second = Get("new/1");
  const auto injector = Apply("damage.swap", {});
  EXPECT_EQ(Get("new/0"), second);
  EXPECT_EQ(Get("new/1"), first);
  EXPECT_EQ(injector->DamagedFiles().size(), 2U);
  EXPECT_TRUE(Apply("damage.swap", {{"rank", "0"}})->Firings().empty());
}

TEST_F(DamageTest, ZeroClearsAPageInsideTheRegionAndNeverTwice) {
  const std::map<std::string, std::string> aim = {{"tensor", "weight/w0"}};
  EXPECT_EQ(Apply("damage.zero", aim)->Firings().size(), 1U);
  EXPECT_EQ(Get("new/0"), "head" + std::string(100, '\0'));
  EXPECT_TRUE(Apply("damage.zero", aim)->Firings().empty());
}

TEST_F(DamageTest, ExtendAppends) {
  const std::string before = Get("new/index");
  Apply("damage.extend", {{"region", "index"}, {"bytes", "9"}});
  EXPECT_EQ(Get("new/index").size(), before.size() + 9);
  EXPECT_EQ(Get("new/index").substr(0, before.size()), before);
}

TEST_F(DamageTest, AnAimThatHitsNothingDoesNotFire) {
  EXPECT_TRUE(Apply("damage.flip", {{"tensor", "weight/other"}})->Firings().empty());
  EXPECT_TRUE(Apply("damage.drop", {{"region", "state"}})->Firings().empty());
  EXPECT_TRUE(Apply("damage.drop", {{"rank", "2"}})->Firings().empty());
  ASSERT_TRUE(RemoveTree(context_.folder));
  EXPECT_TRUE(Apply("damage.drop", {})->Firings().empty());
}

TEST_F(DamageTest, AnAimThatHitsNothingSaysWhatIsMissing) {
  const auto why = [this](const std::string& kind, const std::map<std::string, std::string>& aim) {
    return Apply(kind, aim)->WhyNot();
  };
  EXPECT_EQ(why("damage.flip", {{"tensor", "weight/w2"}}),
            "no tensor \"weight/w2\" in checkpoint new; did you mean \"weight/w0\"?");
  EXPECT_EQ(why("damage.drop", {{"region", "state"}}), "no state region in checkpoint new");
  EXPECT_EQ(why("damage.drop", {{"rank", "2"}}), "rank 2 wrote nothing of that in checkpoint new");
  EXPECT_EQ(why("damage.stale", {{"checkpoint", "older"}}),
            "the folder holds no readable checkpoint before old");
  Put("new/0", "");
  Put("new/1", "");
  EXPECT_EQ(why("damage.zero", {}),
            "what the aim means is missing, empty or cut off in checkpoint new");
  context_.folder_layout = {};
  EXPECT_EQ(why("damage.drop", {{"region", "pointer"}}),
            "no pointer region in the checkpoint folder");
  context_.checkpoints.clear();
  EXPECT_EQ(why("damage.drop", {}), "the folder holds no readable checkpoint");
}

TEST_F(DamageTest, StaleTakesAllFilesWhenAskedFor) {
  Put("old/index", "INDEX");
  const auto injector = Apply("damage.stale", {{"files", "all"}, {"region", "any"}});
  EXPECT_EQ(injector->DamagedFiles().size(), 3U);
  for (const char* file : {"/0", "/1", "/index"}) {
    EXPECT_EQ(Get(std::string("new") + file), Get(std::string("old") + file));
  }
}

// Two files a rank: what belongs together must move together.
TEST_F(DamageTest, SwapOfRanksExchangesEveryFileOfBoth) {
  for (const int rank : {0, 1}) {
    const std::string file = "new/optimizer-" + std::to_string(rank);
    Put(file, "moments of " + std::to_string(rank));
    context_.checkpoints.front().regions.push_back(
        {.file = file, .length_bytes = 12, .rank = rank, .tensor = "exp_avg/w"});
  }
  const std::string first = Get("new/0");
  EXPECT_EQ(Apply("damage.swap", {{"of", "ranks"}})->DamagedFiles().size(), 4U);
  EXPECT_EQ(Get("new/1"), first);
  EXPECT_EQ(Get("new/optimizer-0"), "moments of 1");
  const auto declined = Apply("damage.swap", {{"of", "ranks"}, {"rank", "0"}});
  EXPECT_TRUE(declined->Firings().empty());
  EXPECT_FALSE(declined->WhyNot().empty());
}

TEST_F(DamageTest, DuplicateLeavesOneShardTwiceAndOneNowhere) {
  const std::set<std::string> before = {Get("new/0"), Get("new/1")};
  Apply("damage.duplicate", {});
  EXPECT_EQ(Get("new/0"), Get("new/1"));
  EXPECT_TRUE(before.contains(Get("new/0")));
  EXPECT_TRUE(Apply("damage.duplicate", {})->Firings().empty());
}

TEST_F(DamageTest, MisdirectWritesDataOverOtherDataOfTheSameLength) {
  const std::map<std::string, std::string> before = {{"new/0", Get("new/0")},
                                                     {"new/1", Get("new/1")}};
  const auto injector = Apply("damage.misdirect", {});
  ASSERT_EQ(injector->DamagedFiles().size(), 1U);
  const std::string& file = injector->DamagedFiles().front();
  const std::string& other = before.at(file == "new/0" ? "new/1" : "new/0");
  EXPECT_EQ(Get(file).substr(4), other.substr(4));
  EXPECT_EQ(Get(file).substr(0, 4), "head");
  EXPECT_TRUE(Apply("damage.misdirect", {{"tensor", "weight/w0"}})->Firings().empty());
}

TEST_F(DamageTest, PointerNamesAnotherCheckpointOrNone) {
  EXPECT_TRUE(Apply("damage.pointer", {})->Firings().empty()) << "the format has no pointer";
  context_.pointer_to = [](const std::string& name) { return "-> " + name; };
  Apply("damage.pointer", {{"to", "older"}});
  EXPECT_EQ(Get("newest"), "-> old");
  Apply("damage.pointer", {});
  EXPECT_EQ(Get("newest"), "-> ne0");
  context_.checkpoints.pop_back();
  EXPECT_FALSE(Apply("damage.pointer", {{"to", "older"}})->WhyNot().empty());
}

TEST_F(DamageTest, TimesMakeTheNewestCheckpointTheOldest) {
  EXPECT_EQ(Apply("damage.times", {})->DamagedFiles().size(), 6U);
  for (const char* file : {"", "/0", "/1", "/index"}) {
    EXPECT_LT(fs::last_write_time(context_.folder / (std::string("new") + file)),
              fs::last_write_time(context_.folder / (std::string("old") + file)));
  }
}

TEST_F(DamageTest, UnreadableBindsEverybodyOrSaysWhyNot) {
  Apply("damage.unreadable", {{"region", "index"}});
  EXPECT_TRUE(fs::is_symlink(context_.folder / "new/index"));
  EXPECT_EQ(Get("new/index"), "absent");
  Apply("damage.unreadable", {{"region", "tensor"}, {"rank", "0"}, {"how", "folder"}});
  EXPECT_TRUE(fs::is_directory(context_.folder / "new/0"));
  const auto mode = Apply("damage.unreadable", {{"region", "pointer"}, {"how", "mode"}});
  EXPECT_EQ(mode->Firings().empty(), Get("newest") == "new");
  EXPECT_EQ(mode->WhyNot().find("root") == std::string::npos, !mode->Firings().empty());
}

TEST_F(DamageTest, NothingOutsideOfTheFolderIsTouched) {
  const fs::path outside = root_ / "outside";
  ASSERT_TRUE(WriteFileAtomically(outside, "precious"));
  fs::create_symlink(outside, context_.folder / "link");
  fs::create_hard_link(outside, context_.folder / "hard");
  for (const char* file : {"link", "../outside", "hard"}) {
    context_.folder_layout.regions = {
        {.file = file, .length_bytes = 8, .kind = RegionKind::kPointer}};
    for (const char* kind :
         {"damage.flip", "damage.truncate", "damage.extend", "damage.zero", "damage.unreadable"}) {
      const auto injector = Apply(kind, {{"region", "pointer"}});
      EXPECT_EQ(injector->Firings().empty(), std::string(file) != "hard") << kind << " " << file;
      EXPECT_EQ(*ReadFile(outside, 100), "precious") << kind << " " << file;
      if (std::string(file) == "hard") {
        fs::remove(context_.folder / file);
        fs::create_hard_link(outside, context_.folder / file);
      }
    }
  }
}

}  // namespace
}  // namespace reprise
