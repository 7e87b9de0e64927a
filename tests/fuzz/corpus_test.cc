// The committed inputs of the fuzzer, run as ordinary tests (under the sanitizers in scripts/test):
// seeds of each parser, and what the fuzzer or a reader has found, named after the kind of defect.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "tests/fuzz/targets.h"

namespace reprise::fuzz {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string ContentOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<fs::path> InputsOf(const FuzzTarget& target) {
  std::vector<fs::path> inputs;
  for (const auto& entry : fs::directory_iterator(fs::path(REPRISE_FUZZ_CORPUS) / target.name)) {
    inputs.push_back(entry.path());
  }
  std::sort(inputs.begin(), inputs.end());
  return inputs;
}

class FuzzCorpusTest : public ::testing::TestWithParam<FuzzTarget> {};

TEST_P(FuzzCorpusTest, EachInputIsTakenOrRefusedWithItsPlace) {
  int accepted_count = 0;
  int refused_count = 0;
  for (const fs::path& path : InputsOf(GetParam())) {
    bool accepted = false;
    EXPECT_EQ(GetParam().complain(ContentOf(path), &accepted), "") << path;
    ++(accepted ? accepted_count : refused_count);
  }
  EXPECT_GT(accepted_count, 0) << "no input reaches what lies behind the parser";
  EXPECT_GT(refused_count, 0) << "no input reaches an error";
}

TEST_P(FuzzCorpusTest, EachByteMayBeCutOrChanged) {
  for (const fs::path& path : InputsOf(GetParam())) {
    const std::string content = ContentOf(path);
    bool ignored = false;
    for (std::size_t i = 0; i < content.size(); i += 1 + content.size() / 64) {
      EXPECT_EQ(GetParam().complain(content.substr(0, i), &ignored), "") << path << " cut at " << i;
      std::string changed = content;
      changed[i] = static_cast<char>(changed[i] ^ 0x11);
      EXPECT_EQ(GetParam().complain(changed, &ignored), "") << path << " changed at " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, FuzzCorpusTest, ::testing::ValuesIn(AllTargets()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(ComplainOfPlaceTest, AnErrorWithoutAPlaceIsComplainedOf) {
  const auto complaint = [](std::string message, std::string where) {
    return ComplainOfPlace({ErrorCode::kCorrupt, std::move(message), std::move(where)}, "f.json",
                           "one\ntwo\n");
  };
  EXPECT_THAT(complaint("bad", ""), HasSubstr("does not name the file"));
  EXPECT_THAT(complaint("bad", "g.json: field"), HasSubstr("does not name the file"));
  EXPECT_THAT(complaint("bad", "f.json"), HasSubstr("the file alone"));
  EXPECT_THAT(complaint("bad", "f.json:4"), HasSubstr("no such line"));
  EXPECT_THAT(complaint("bad", "f.json:0"), HasSubstr("no such line"));
  EXPECT_THAT(complaint("not valid JSON: line 9", "f.json"), HasSubstr("no such line"));
  EXPECT_THAT(complaint("bad", "f.json: "), HasSubstr("empty field"));
  EXPECT_THAT(complaint(std::string(1 << 20, 'x'), "f.json: a"), HasSubstr("an error of"));
  EXPECT_EQ(complaint("bad", "f.json: field"), "");
  EXPECT_EQ(complaint("bad", "f.json:3: field"), "");
  EXPECT_EQ(complaint("not valid JSON: line 2, column 1", "f.json"), "");
  EXPECT_EQ(complaint("ends at byte 7", "f.json"), "");
}

}  // namespace
}  // namespace reprise::fuzz
