// The probe when things go wrong: it never breaks its training. Round trips through the reader are
// in harness/record/logbook_round_trip_test.cc.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "probes/cpp/reprise_probe.h"

namespace reprise::probe {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

std::string Content(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

class LogbookWriterTest : public ::testing::Test {
 protected:
  LogbookWriterTest() {
    std::string pattern = (fs::temp_directory_path() / "logbook_writer_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    setenv("REPRISE_LOGBOOK", folder_.c_str(), 1);
  }
  ~LogbookWriterTest() override {
    for (const char* name : {"REPRISE_LOGBOOK", "RANK", "WORLD_SIZE", "REPRISE_CAPTURE"}) {
      unsetenv(name);
    }
    fs::remove_all(folder_);
  }

  [[nodiscard]] fs::path File() const { return folder_ / "rank-0.jsonl"; }
  TensorView View(const std::string& kind) {
    return {.component = "weights",
            .kind = kind,
            .path = "a",
            .dtype = "F32",
            .global_shape = {4},
            .offsets = {1},
            .extents = {2},
            .data = values_};
  }
  // What State() says on standard error about one view; empty when it records it.
  std::string ComplaintAbout(const TensorView& view) {
    fs::remove(File());
    auto log = Logbook::FromEnvironment();
    testing::internal::CaptureStderr();
    log.State("step", 1, {view}, {});
    log.End(1);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(said.empty(), log.IsActive());
    EXPECT_EQ(said.empty(), Content(File()).find("\"end\"") != std::string::npos);
    return said;
  }

  float values_[2] = {1.5F, -2.0F};
  fs::path folder_;
};

TEST_F(LogbookWriterTest, WithoutTheVariableEveryCallIsSilent) {
  unsetenv("REPRISE_LOGBOOK");
  testing::internal::CaptureStderr();
  auto log = Logbook::FromEnvironment();
  EXPECT_FALSE(log.IsActive());
  log.Start({{"a", "b"}});
  log.State("nonsense", 0, {View("weight")}, {});
  log.Step(1, 0.5F, {}, {});
  log.MicroBatch(1, 0, 0, {}, {});
  log.End(1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(LogbookWriterTest, AFullDiskEndsTheRecordingWithOneMessage) {
  fs::create_symlink("/dev/full", File());
  auto log = Logbook::FromEnvironment();
  ASSERT_TRUE(log.IsActive());
  testing::internal::CaptureStderr();
  log.Ready(0);
  log.Optimizer(1);
  log.End(1);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("No space left"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
  EXPECT_FALSE(log.IsActive());
}

TEST_F(LogbookWriterTest, AFolderThatIsMissingOrInUseIsSaidAndNothingIsRecorded) {
  testing::internal::CaptureStderr();
  std::ofstream(File()) << "{}\n";
  EXPECT_FALSE(Logbook::FromEnvironment().IsActive());
  setenv("REPRISE_LOGBOOK", (folder_ / "none").c_str(), 1);
  EXPECT_FALSE(Logbook::FromEnvironment().IsActive());
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("already holds records"));
  EXPECT_THAT(said, HasSubstr("No such file"));
}

TEST_F(LogbookWriterTest, AnImpossibleRankIsSaidAndNothingIsRecorded) {
  testing::internal::CaptureStderr();
  setenv("RANK", "one", 1);
  EXPECT_FALSE(Logbook::FromEnvironment().IsActive());
  setenv("RANK", "2", 1);
  setenv("WORLD_SIZE", "2", 1);
  EXPECT_FALSE(Logbook::FromEnvironment().IsActive());
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("RANK=one"));
  EXPECT_THAT(said, HasSubstr("RANK=2 is not below WORLD_SIZE=2"));
}

TEST_F(LogbookWriterTest, AViewThatContradictsItselfEndsTheRecordingByName) {
  EXPECT_EQ(ComplaintAbout(View("weight")), "");
  TensorView view = View("weight");
  view.offsets = {3};
  EXPECT_THAT(ComplaintAbout(view), HasSubstr("weight/a"));
  view.offsets = {0, 0};
  EXPECT_THAT(ComplaintAbout(view), HasSubstr("different dimensions"));
  view = View("weight");
  view.dtype = "F31";
  EXPECT_THAT(ComplaintAbout(view), HasSubstr("F31"));
  view = View("weight");
  view.data = nullptr;
  EXPECT_THAT(ComplaintAbout(view), HasSubstr("no data"));
  view = View("weight");
  view.replica_index = 1;
  EXPECT_THAT(ComplaintAbout(view), HasSubstr("replica"));
}

TEST_F(LogbookWriterTest, TheSameTensorTwiceInOneReadingEndsTheRecording) {
  auto log = Logbook::FromEnvironment();
  testing::internal::CaptureStderr();
  log.State("step", 1, {View("weight"), View("weight")}, {});
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("weight/a is given twice"));
  EXPECT_FALSE(log.IsActive());
}

TEST_F(LogbookWriterTest, CaptureWritesTheMatchingTensorsOfTheStepAsSafetensors) {
  setenv("REPRISE_CAPTURE", "steps=2,3;names=exp_avg*,other", 1);
  auto log = Logbook::FromEnvironment();
  log.State("step", 1, {View("exp_avg")}, {});
  log.State("step", 3, {View("weight"), View("exp_avg")}, {});
  EXPECT_FALSE(fs::exists(folder_ / "capture-rank-0-step-1-step.safetensors"));
  const std::string file = Content(folder_ / "capture-rank-0-step-3-step.safetensors");
  ASSERT_GT(file.size(), 16U);
  std::uint64_t header_size = 0;
  std::memcpy(&header_size, file.data(), 8);
  ASSERT_EQ(file.size(), 8 + header_size + sizeof(values_));
  const std::string header = file.substr(8, header_size);
  EXPECT_THAT(header, HasSubstr(R"("exp_avg/a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})"));
  EXPECT_THAT(header, HasSubstr(R"("exp_avg/a":"global_shape=[4];offsets=[1]")"));
  EXPECT_EQ(header.find("weight/a"), std::string::npos);
  EXPECT_EQ(std::memcmp(file.data() + 8 + header_size, values_, sizeof(values_)), 0);
}

TEST_F(LogbookWriterTest, ABadCaptureIsSaidAndTheRecordingGoesOn) {
  for (const char* bad :
       {"steps=1", "names=*", "steps=1;names=", "steps=x;names=*", "steps=-1;names=*",
        "steps=1;names=*;more=2", "all", "steps=1;steps=2;names=*", ";"}) {
    fs::remove(File());
    setenv("REPRISE_CAPTURE", bad, 1);
    testing::internal::CaptureStderr();
    auto log = Logbook::FromEnvironment();
    log.State("step", 1, {View("weight")}, {});
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("nothing is captured")) << bad;
    EXPECT_TRUE(log.IsActive());
    EXPECT_FALSE(fs::exists(folder_ / "capture-rank-0-step-1-step.safetensors"));
  }
}

}  // namespace
}  // namespace reprise::probe
