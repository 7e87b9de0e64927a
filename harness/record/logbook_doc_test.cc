// The examples of docs/logbook.md are what the code does.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <sstream>
#include <string>

#include "harness/base/files.h"
#include "harness/record/logbook_reader.h"
#include "probes/c/digest.h"

namespace reprise {
namespace {

// The content of the document's block that begins with ```language.
std::string Block(const std::string& language) {
  const auto document = ReadFile(REPRISE_LOGBOOK_DOCUMENT, 1 << 20);
  EXPECT_TRUE(document) << document.error().ToString();
  const std::string opening = "\n```" + language + "\n";
  const std::size_t begin = document->find(opening);
  EXPECT_NE(begin, std::string::npos);
  const std::size_t content = begin + opening.size();
  return document->substr(content, document->find("```", content) - content);
}

std::string SumText(const reprise_digest_sum& sum) {
  return fmt::format("{:016x} {:016x}", sum.a, sum.b);
}

reprise_digest_sum BoxSum(const float* data, std::array<std::int64_t, 2> offsets,
                          std::array<std::int64_t, 2> extents) {
  const std::array<std::int64_t, 2> shape = {2, 3};
  reprise_digest_sum sum = {};
  EXPECT_EQ(reprise_digest_box(&sum, data, 4, 2, shape.data(), offsets.data(), extents.data()), 0);
  return sum;
}

TEST(LogbookDocumentTest, ItsExampleHoldsRecordsThatTheReaderReads) {
  std::istringstream lines(Block("jsonl"));
  std::map<std::size_t, int> types;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto record = ParseLogRecord(line, fmt::format("example:{}", ++number));
    ASSERT_TRUE(record) << record.error().ToString();
    ++types[record->index()];
  }
  EXPECT_GE(types.size(), 12U);  // all types but "epoch"
}

TEST(LogbookDocumentTest, ItsDigestsAreThoseOfTheLibraryAndTheShardsAddUp) {
  const std::array<float, 6> whole = {1, 2, 3, 4, 5, 6};
  const std::array<float, 4> left = {1, 2, 4, 5};
  const std::array<float, 2> right = {3, 6};
  const reprise_digest_sum sum = BoxSum(whole.data(), {0, 0}, {2, 3});
  const reprise_digest_sum left_sum = BoxSum(left.data(), {0, 0}, {2, 2});
  const reprise_digest_sum right_sum = BoxSum(right.data(), {0, 2}, {2, 1});
  EXPECT_EQ(SumText(sum), SumText({left_sum.a + right_sum.a, left_sum.b + right_sum.b}));
  const std::array<std::int64_t, 2> shape = {2, 3};
  std::array<char, REPRISE_DIGEST_HEX_SIZE> hex = {};
  reprise_digest_final(&sum, "F32", 2, shape.data(), hex.data());
  EXPECT_EQ(Block("digest"),
            fmt::format("whole        {}\ncolumns 0-1  {}\ncolumn 2     {}\nfinal        {}\n",
                        SumText(sum), SumText(left_sum), SumText(right_sum), hex.data()));
}

}  // namespace
}  // namespace reprise
