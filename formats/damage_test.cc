// Parsers of the checkpoint format on hostile and torn bytes: an error that names a place, or a
// result that keeps its promises; never a crash, a hang or a large allocation.

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/resource.h>

#include <filesystem>

#include "formats/checkpoint_index.h"
#include "formats/durable_files.h"
#include "formats/format_testing.h"
#include "formats/safetensors.h"
#include "formats/sharded_safetensors_reader.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

std::string HeaderOf(const std::string& json) {
  std::string header;
  for (std::size_t i = 0; i < 8; ++i) {
    header += static_cast<char>(json.size() >> (8 * i) & 0xFFU);
  }
  return header + json;
}

constexpr const char* kGoodHeader =
    R"({"__metadata__":{"step":"1"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
    R"("b":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}} )";

Result<SafetensorsHeader> Parse(const std::string& json, std::int64_t data_bytes = 11) {
  const std::string header = HeaderOf(json);
  return ParseSafetensorsHeader(header, static_cast<std::int64_t>(header.size()) + data_bytes,
                                "file");
}

TEST(SafetensorsTest, ReadsAGoodHeader) {
  const auto header = Parse(kGoodHeader);
  ASSERT_TRUE(header) << header.error().ToString();
  ASSERT_EQ(header->entries.size(), 2U);
  EXPECT_EQ(header->entries[1].name, "b");
  EXPECT_EQ(header->metadata.at("step"), "1");
}

TEST(SafetensorsTest, RefusesWhatTheReferenceReaderRefuses) {
  const std::vector<std::string> wrong = {
      "",
      " " + std::string(kGoodHeader),
      std::string(kGoodHeader) + "\n",
      "[]",
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[3,11]}})",
      R"({"a":{"dtype":"U8","shape":[11],"data_offsets":[0,11]},"a":{}})",
      R"({"a":{"dtype":"U9","shape":[11],"data_offsets":[0,11]}})",
      R"({"a":{"dtype":"U8","shape":[-11],"data_offsets":[0,11]}})",
      R"({"a":{"dtype":"U8","shape":[12],"data_offsets":[0,11]}})",
      R"({"a":{"dtype":"U8","shape":[11],"data_offsets":[11,0]}})",
      R"({"a":{"dtype":"U8","shape":[11],"data_offsets":[0,11],"extra":1}})",
      R"({"a":{"dtype":"U8","shape":[1e1],"data_offsets":[0,11]}})",
      R"({"a":{"dtype":"F64","shape":[4611686018427387904,4],"data_offsets":[0,11]}})",
      R"({"a":{"dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,11]}})",
      R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},)"
      R"("b":{"dtype":"U8","shape":[8],"data_offsets":[3,11]}})",
      R"({"__metadata__":{"a":1}})",
      "{\"\xFF\":{}}",
      std::string(100000, '['),
      R"({"a":)" + std::string(100000, '[')};
  for (const std::string& json : wrong) {
    const auto header = Parse(json);
    ASSERT_FALSE(header) << json.substr(0, 100);
    EXPECT_EQ(header.error().code, ErrorCode::kCorrupt);
    EXPECT_EQ(header.error().where.find("file"), 0U) << header.error().ToString();
  }
}

TEST(SafetensorsTest, RefusesLengthsThatAFileCannotHave) {
  EXPECT_FALSE(SafetensorsHeaderLength(std::string(8, '\xFF'), INT64_MAX, "file"));
  EXPECT_FALSE(SafetensorsHeaderLength(std::string("\x09\0\0\0\0\0\0\0", 8), 16, "file"));
  EXPECT_TRUE(SafetensorsHeaderLength(std::string("\x08\0\0\0\0\0\0\0", 8), 16, "file"));
  EXPECT_FALSE(SafetensorsHeaderLength("1234567", 16, "file"));
}

// One to four small changes anywhere: bytes flipped, removed, doubled, digits made huge.
std::string Mutate(std::string text) {
  const int changes = *rc::gen::inRange(1, 5);
  for (int i = 0; i < changes && !text.empty(); ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    const auto length = *rc::gen::inRange<std::size_t>(1, 20);
    const int kind = *rc::gen::inRange(0, 5);
    if (kind == 0) {
      text[at] = *rc::gen::arbitrary<char>();
    } else if (kind == 1) {
      text.erase(at, length);
    } else if (kind == 2) {
      text.insert(at, text.substr(at, length));
    } else if (kind == 3) {
      text.insert(at, "9223372036854775807");
    } else {
      text[at] = *rc::gen::element('0', '9', '"', '{', '}', '[', ']', ',', '-');
    }
  }
  return text;
}

TEST(SafetensorsTest, LawMutatedHeadersAreRefusedWithAPlaceOrKeepTheRules) {
  EXPECT_TRUE(rc::check([] {
    const auto header = Parse(Mutate(kGoodHeader));
    if (!header) {
      RC_ASSERT(header.error().where.starts_with("file"));
      return;
    }
    std::int64_t at = 0;
    for (const SafetensorsEntry& entry : header->entries) {
      RC_ASSERT(entry.begin_bytes == at);
      at = entry.end_bytes;
    }
    RC_ASSERT(at == 11);
  }));
}

// A checkpoint whose index is mutated under a commit mark that is right for it: only the parser and
// the comparison with the shards stand between it and a wrong result.
class HostileIndexTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto format = FindFormat("sharded-safetensors")->make();
    Random random(3);
    state_ = {{"w", testing::RandomTensor(DType::kF32, {3, 2}, &random)},
              {"m", testing::RandomTensor(DType::kBF16, {4}, &random)}};
    ASSERT_TRUE(testing::Save(*format, folder_.Path(), state_, 1, 2));
    index_ = testing::FilesIn(Path()).at(kIndexFile);
  }

  [[nodiscard]] fs::path Path() const { return folder_.Path() / "step-00000001"; }

  // Opens with this text as the index, and loads all.
  Status LoadWith(const std::string& index) {
    testing::Overwrite(Path() / kIndexFile, index);
    testing::Overwrite(Path() / kCommitFile, CommitText(1, index));
    const CheckpointRef ref{.name = "step-00000001", .step = 1};
    REPRISE_ASSIGN_OR_RETURN(const auto reader, OpenShardedSafetensors(folder_.Path(), ref));
    REPRISE_RETURN_IF_ERROR(reader->Verify());
    REPRISE_ASSIGN_OR_RETURN(const testing::State loaded, testing::Load(reader.get(), state_, 1));
    is_equal_ = loaded == state_;
    return {};
  }

  std::string Replaced(const std::string& from, const std::string& to) const {
    const std::size_t at = index_.find(from);
    EXPECT_NE(at, std::string::npos) << from << " in " << index_;
    return index_.substr(0, at) + to + index_.substr(at + from.size());
  }

  testing::TemporaryFolder folder_;
  testing::State state_;
  std::string index_;
  bool is_equal_ = false;
};

TEST_F(HostileIndexTest, TheUnchangedIndexLoads) {
  ASSERT_TRUE(LoadWith(index_));
  EXPECT_TRUE(is_equal_);
}

TEST_F(HostileIndexTest, RefusesOverlapsHugeNumbersAndStrangers) {
  const std::vector<std::string> wrong = {
      Replaced(R"("offsets":[1,0])", R"("offsets":[0,0])"),
      Replaced(R"("offsets":[1,0])", R"("offsets":[9223372036854775807,0])"),
      Replaced(R"("global_shape":[3,2])", R"("global_shape":[9223372036854775807,2])"),
      Replaced(R"("size":)", R"("size":1)"),
      Replaced(R"("world": 2)", R"("world": 2000000000)"),
      Replaced(R"("step": 1)", R"("step": 2)"),
      Replaced("shard-00001-of", "../shard-00001-of"),
      Replaced(R"("dtype":"F32")", R"("dtype":"I32")"),
      Replaced(R"("format": ")", R"("format": "other/)"),
      std::string(1000000, '['),
      "",
      "{}"};
  for (const std::string& index : wrong) {
    const Status loaded = LoadWith(index);
    ASSERT_FALSE(loaded) << index.substr(0, 2000);
    EXPECT_EQ(loaded.error().code, ErrorCode::kCorrupt) << loaded.error().ToString();
    EXPECT_NE(loaded.error().where.find("step-00000001/"), std::string::npos)
        << loaded.error().ToString();
  }
}

TEST_F(HostileIndexTest, LawAMutatedIndexIsRefusedWithAPlaceOrLoadsTheSameState) {
  EXPECT_TRUE(rc::check([this] {
    const Status loaded = LoadWith(Mutate(index_));
    if (!loaded) {
      RC_ASSERT(loaded.error().where.find("step-00000001/") != std::string::npos);
    } else {
      RC_ASSERT(is_equal_);
    }
  }));
}

TEST_F(HostileIndexTest, RefusesTenGigabyteSparseFilesWithoutReadingThem) {
  rusage before = {};
  getrusage(RUSAGE_SELF, &before);
  for (const auto& [name, content] : testing::FilesIn(Path())) {
    fs::resize_file(Path() / name, std::uintmax_t{10} << 30);
    const auto reader =
        OpenShardedSafetensors(folder_.Path(), {.name = "step-00000001", .step = 1});
    ASSERT_FALSE(reader);
    EXPECT_NE(reader.error().where.find(name), std::string::npos) << reader.error().ToString();
    testing::Overwrite(Path() / name, content);
  }
  rusage after = {};
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 100 * 1024);  // KiB
}

TEST(SealTest, NoBitOfASealedTextCanChange) {
  const std::string sealed = Seal("step-00000020\n");
  EXPECT_EQ(Unseal(sealed, "file").value(), "step-00000020\n");
  for (std::size_t bit = 0; bit < sealed.size() * 8; ++bit) {
    std::string damaged = sealed;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << (bit % 8));
    EXPECT_FALSE(Unseal(damaged, "file")) << bit;
  }
  EXPECT_FALSE(Unseal("", "file"));
}

}  // namespace
}  // namespace reprise
