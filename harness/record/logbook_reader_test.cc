#include "harness/record/logbook_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

namespace reprise {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
namespace fs = std::filesystem;

constexpr char kStart[] =
    R"({"t":"start","schema":"reprise.logbook/1","rank":0,"world":2,"attempt":1,"environment":{}})"
    "\n";

class LogbookReaderTest : public ::testing::Test {
 protected:
  LogbookReaderTest() {
    std::string pattern = (fs::temp_directory_path() / "logbook_reader_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~LogbookReaderTest() override { fs::remove_all(folder_); }

  fs::path Write(const std::string& name, const std::string& content) {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return folder_ / name;
  }
  Result<Logbook> Read(const std::string& content) {
    return ReadLogbook(Write("rank-0.jsonl", content));
  }
  // The error of a logbook whose second line is `line`.
  Error ErrorOf(const std::string& line) {
    const auto result = Read(kStart + line + "\n");
    return result ? Error{ErrorCode::kUsage, "read without an error"} : result.error();
  }

  fs::path folder_;
};

TEST_F(LogbookReaderTest, ReadsRecordsInOrderAndAcceptsUnknownFields) {
  const auto logbook = Read(std::string(kStart) + R"({"t":"ready","step":3,"new":[{"a":null}]})"
                                                  "\n"
                                                  R"({"t":"end","step":4})"
                                                  "\n");
  ASSERT_TRUE(logbook) << logbook.error().ToString();
  ASSERT_EQ(logbook->records.size(), 3U);
  EXPECT_EQ(std::get<StartRecord>(logbook->records[0]).world, 2);
  EXPECT_EQ(std::get<ReadyRecord>(logbook->records[1]).step, 3);
  EXPECT_EQ(std::get<EndRecord>(logbook->records[2]).step, 4);
  EXPECT_FALSE(logbook->torn_tail);
}

TEST_F(LogbookReaderTest, SkipsATornLastLineWhereverItIsCut) {
  const std::string line = R"({"t":"end","step":4})";
  for (std::size_t length = 1; length <= line.size(); ++length) {
    const auto logbook = Read(kStart + line.substr(0, length));
    ASSERT_TRUE(logbook) << logbook.error().ToString();
    EXPECT_EQ(logbook->records.size(), 1U);
    EXPECT_TRUE(logbook->torn_tail);
  }
}

TEST_F(LogbookReaderTest, EmptyFileAndTornFirstLineAreALogbookWithoutRecords) {
  EXPECT_EQ(Read("")->records.size(), 0U);
  EXPECT_FALSE(Read("")->torn_tail);
  EXPECT_TRUE(Read("{\"t\":")->torn_tail);
}

TEST_F(LogbookReaderTest, TornLineInTheMiddleIsAnErrorWithFileAndLine) {
  const auto logbook =
      Read(std::string(kStart) + "{\"t\":\"end\",\"st\n{\"t\":\"end\",\"step\":4}\n");
  ASSERT_FALSE(logbook);
  EXPECT_EQ(logbook.error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(logbook.error().where, (folder_ / "rank-0.jsonl").string() + ":2");
}

TEST_F(LogbookReaderTest, FieldErrorsNameFileLineFieldAndWhatWasExpected) {
  const std::string prefix = (folder_ / "rank-0.jsonl").string() + ":2: ";
  const struct {
    const char* line;
    const char* field;
    const char* message;
  } cases[] = {
      {R"({"t":"end"})", "step", "required"},
      {R"({"t":"end","step":-1})", "step", "from 0"},
      {R"({"t":"end","step":1.0})", "step", "found the number"},
      {R"({"t":"end","step":"1"})", "step", "found the string"},
      {R"({"t":"end","step":9223372036854775808})", "step", "from 0"},
      {R"({"step":1})", "t", "required"},
      {R"({"t":"eval","step":1,"loss":0.5})", "loss", "expected a string"},
      {R"({"t":"eval","step":1,"loss":"f32:3f8"})", "loss", "bits of a float"},
      {R"({"t":"step","step":1,"loss":"f32:00000000","learning_rate":[1],"weight_decay":[]})",
       "learning_rate[0]", "expected a string"},
      {R"({"t":"micro","step":1,"micro":0,"worker":0,"ids":[1,2.5],"content":""})", "ids",
       "expected integers"},
      {R"({"t":"micro","step":1,"micro":0,"worker":0,"ids":[],"content":"AB"})", "content",
       "32 lower-case"},
      {R"({"t":"restored","step":0,"checkpoint":""})", "refused", "required"},
      {R"({"t":"state","reading":"later","step":0,"tensors":[],"scalars":{}})", "reading",
       "request, restored, ready, step"},
      {R"({"t":"state","reading":"ready","step":0,"tensors":[],"scalars":{"a":1}})", "scalars",
       "expected a string for \"a\""},
      {R"({"t":"state","reading":"ready","step":0,"tensors":[[0,"1","2"]],"scalars":{}})",
       "tensors[0]", "16 hex digits"},
      {R"({"t":"names","tensors":[{"component":"c","kind":"k","path":"p","dtype":"F8","shape":[],)"
       R"("offsets":[],"extents":[],"replica":[0,1]}]})",
       "tensors[0].dtype", "unknown element type"},
      {R"({"t":"names","tensors":[{"component":"c","kind":"k","path":"p","dtype":"F32","shape":[2],)"
       R"("offsets":[1],"extents":[2],"replica":[0,1]}]})",
       "tensors[0].offsets", "inside the shape"},
      {R"({"t":"names","tensors":[{"component":"c","kind":"k","path":"p","dtype":"F32","shape":[2],)"
       R"("offsets":[0],"extents":[2],"replica":[1,1]}]})",
       "tensors[0].replica", "index < count"},
      {R"({"t":"names","tensors":[7]})", "tensors[0]", "expected an object"},
  };
  for (const auto& c : cases) {
    const Error error = ErrorOf(c.line);
    EXPECT_EQ(error.code, ErrorCode::kCorrupt) << c.line;
    EXPECT_EQ(error.where, prefix + c.field) << c.line;
    EXPECT_THAT(error.message, HasSubstr(c.message)) << c.line;
  }
}

TEST_F(LogbookReaderTest, UnknownRecordTypeIsNamed) {
  const Error error = ErrorOf(R"({"t":"telemetry","step":1})");
  EXPECT_EQ(error.code, ErrorCode::kCorrupt);
  EXPECT_THAT(error.message, HasSubstr("\"telemetry\""));
  EXPECT_THAT(error.message, HasSubstr("save_begin"));
}

TEST_F(LogbookReaderTest, AnotherSchemaIsRefused) {
  const auto logbook = Read(
      R"({"t":"start","schema":"reprise.logbook/9","rank":0,"world":1,"attempt":0,"environment":{}})"
      "\n");
  ASSERT_FALSE(logbook);
  EXPECT_THAT(logbook.error().message, HasSubstr("reprise.logbook/1"));
}

TEST_F(LogbookReaderTest, RecordsBeforeStartOrASecondStartAreRefused) {
  EXPECT_THAT(Read("{\"t\":\"end\",\"step\":4}\n").error().message, HasSubstr("first record"));
  EXPECT_THAT(Read(std::string(kStart) + kStart).error().message, HasSubstr("second start"));
}

TEST_F(LogbookReaderTest, ARankOtherThanThatOfTheFileNameIsRefused) {
  const auto logbook = ReadLogbook(Write("rank-1.jsonl", kStart));
  ASSERT_FALSE(logbook);
  EXPECT_THAT(logbook.error().message, HasSubstr("expected rank 1"));
}

TEST_F(LogbookReaderTest, ATensorNumberWithoutDescriptionIsRefused) {
  const Error error =
      ErrorOf(R"({"t":"state","reading":"ready","step":0,)"
              R"("tensors":[[0,"0000000000000000","0000000000000000"]],"scalars":{}})");
  EXPECT_THAT(error.message, HasSubstr("tensor number 0"));
}

TEST_F(LogbookReaderTest, HostileJsonIsRefusedNotCrashedOn) {
  EXPECT_THAT(ErrorOf(std::string(1'000'000, '[')).message, HasSubstr("nested deeper"));
  EXPECT_THAT(ErrorOf(R"({"t":"end","t":"end","step":1})").message, HasSubstr("twice"));
  EXPECT_EQ(ErrorOf(std::string(64, '\0')).code, ErrorCode::kCorrupt);
  EXPECT_EQ(ErrorOf("{\"t\":\"end\xff\",\"step\":1}").code, ErrorCode::kCorrupt);
  EXPECT_EQ(ErrorOf("").code, ErrorCode::kCorrupt);
}

TEST_F(LogbookReaderTest, ASparseFileOfTenGigabytesIsRefusedAfterSixteenMebibytes) {
  const fs::path path = Write("rank-0.jsonl", kStart);
  ASSERT_EQ(truncate(path.c_str(), 10'000'000'000), 0);
  const auto logbook = ReadLogbook(path);
  ASSERT_FALSE(logbook);
  EXPECT_EQ(logbook.error().where, path.string() + ":2");
  EXPECT_THAT(logbook.error().message, HasSubstr("16 MiB"));
}

TEST_F(LogbookReaderTest, ALineOfExactlySixteenMebibytesIsLookedAtAndOneByteMoreIsNot) {
  const std::size_t limit = std::size_t{16} << 20;  // with the newline
  EXPECT_THAT(ErrorOf(std::string(limit - 1, 'x')).message, HasSubstr("not valid JSON"));
  EXPECT_THAT(ErrorOf(std::string(limit, 'x')).message, HasSubstr("16 MiB"));
}

TEST_F(LogbookReaderTest, ALineOfSixtyFourMebibytesIsRefusedAndNotQuoted) {
  const Error error = ErrorOf("{\"t\":\"" + std::string(std::size_t{64} << 20, 'x') + "\"}");
  EXPECT_THAT(error.message, HasSubstr("16 MiB"));
  EXPECT_LT(error.message.size(), 200U);
}

TEST_F(LogbookReaderTest, AStepFromWhichOneCannotCountOnIsRefused) {
  EXPECT_THAT(ErrorOf(R"({"t":"end","step":9223372036854775806})").message,
              HasSubstr("from 0 to 1000000000000000"));
}

// Sums are read by a reader of their own, which must take only the field of the record.
TEST_F(LogbookReaderTest, SumsElsewhereInTheLineAreNotTheRecordsSums) {
  const std::string names =
      R"({"t":"names","tensors":[{"component":"c","kind":"k","path":"p","dtype":"F32","shape":[],)"
      R"("offsets":[],"extents":[],"replica":[0,1]}]})"
      "\n";
  const std::string other = R"([[0,"00000000000000ff","00000000000000ff"]])";
  const std::string own = R"([[0,"0000000000000001","0000000000000002"]])";
  for (const std::string& line :
       {R"({"t":"state","reading":"ready","step":1,"x":{"y":0,"tensors":)" + other +
            R"(},"tensors":)" + own + R"(,"scalars":{}})",
        R"({"t":"state","reading":"ready","step":1,"tensors":)" + own +
            R"(,"scalars":{},"x":{"tensors":)" + other + "}}"}) {
    const auto logbook = Read(kStart + names + line + "\n");
    ASSERT_TRUE(logbook) << logbook.error().ToString();
    const auto& state = std::get<StateRecord>(logbook->records.back());
    EXPECT_EQ(state.tensors.at(0), (DigestSum{1, 2})) << line;
  }
  const Error twice = ErrorOf(R"({"t":"state","reading":"ready","step":1,"tensors":)" + own +
                              R"(,"scalars":{},"tensors":)" + other + "}");
  EXPECT_THAT(twice.message, HasSubstr("\"tensors\" occurs twice"));
}

TEST_F(LogbookReaderTest, NotAFileAndNoFileAreErrorsWithThePath) {
  fs::create_directory(folder_ / "rank-0.jsonl");
  EXPECT_EQ(ReadLogbook(folder_ / "rank-0.jsonl").error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(ReadLogbook(folder_ / "rank-7.jsonl").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(ReadLogbooks(folder_ / "none").error().code, ErrorCode::kNotFound);
  EXPECT_THAT(ReadLogbooks(folder_ / "none").error().where, StartsWith(folder_.string()));
}

TEST_F(LogbookReaderTest, AFolderGivesTheLogbooksByRankAndIgnoresOtherFiles) {
  EXPECT_TRUE(ReadLogbooks(folder_)->empty());
  for (const int rank : {10, 2, 0}) {
    Write("rank-" + std::to_string(rank) + ".jsonl",
          R"({"t":"start","schema":"reprise.logbook/1","rank":)" + std::to_string(rank) +
              R"(,"world":11,"attempt":0,"environment":{}})"
              "\n");
  }
  Write("rank-01.jsonl", "not one of ours");
  Write("capture-rank-0-step-1-ready.safetensors", "not one of ours");
  const auto logbooks = ReadLogbooks(folder_);
  ASSERT_TRUE(logbooks) << logbooks.error().ToString();
  ASSERT_EQ(logbooks->size(), 3U);
  EXPECT_EQ((*logbooks)[0].rank, 0);
  EXPECT_EQ((*logbooks)[1].rank, 2);
  EXPECT_EQ((*logbooks)[2].rank, 10);
}

}  // namespace
}  // namespace reprise
