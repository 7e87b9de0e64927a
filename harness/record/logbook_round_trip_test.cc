// What the probe writes is what the reader reads, for every record type.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <fstream>
#include <map>
#include <span>
#include <sstream>
#include <string>

#include "harness/base/content_id.h"
#include "harness/base/random.h"
#include "harness/record/logbook_reader.h"
#include "probes/c/digest.h"
#include "probes/cpp/reprise_probe.h"

namespace reprise {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
namespace fs = std::filesystem;

// A folder for one attempt and the environment of its one rank.
class LogbookRoundTripTest : public ::testing::Test {
 protected:
  LogbookRoundTripTest() {
    std::string pattern = (fs::temp_directory_path() / "logbook_round_trip_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    setenv("REPRISE_LOGBOOK", folder_.c_str(), 1);
    setenv("RANK", "1", 1);
    setenv("WORLD_SIZE", "3", 1);
    setenv("REPRISE_ATTEMPT", "2", 1);
    unsetenv("REPRISE_CAPTURE");
  }
  ~LogbookRoundTripTest() override {
    for (const char* name : {"REPRISE_LOGBOOK", "RANK", "WORLD_SIZE", "REPRISE_ATTEMPT"}) {
      unsetenv(name);
    }
    fs::remove_all(folder_);
  }

  [[nodiscard]] fs::path File() const { return folder_ / "rank-1.jsonl"; }
  std::vector<LogRecord> Records() {
    auto logbook = ReadLogbook(File());
    EXPECT_TRUE(logbook) << logbook.error().ToString();
    return logbook ? logbook->records : std::vector<LogRecord>();
  }

  fs::path folder_;
};

probe::TensorView Matrix(const std::vector<float>& values) {
  return {.component = "weights",
          .kind = "weight",
          .path = "a.b",
          .dtype = "F32",
          .global_shape = {4, 3},
          .offsets = {1, 0},
          .extents = {2, 3},
          .data = values.data()};
}

const std::vector<float>& SixValues() {
  static const std::vector<float> values = {1, -0.0F, 3, 4, 5, 6};
  return values;
}

// Every record type once, with values at the edges.
void WriteEveryRecord(probe::Logbook* log) {
  log->Start({{"torch", "1.13"}});
  log->Restored(20, "step-00000020", {"step-00000024: torn"});
  log->State("ready", 20, {Matrix(SixValues())}, {{"data.position", "12"}});
  log->Ready(20);
  const std::array<std::int64_t, 3> ids = {5, INT64_MIN, INT64_MAX};
  log->MicroBatch(21, 1, 2, ids, std::as_bytes(std::span("abc", 3)));
  log->Optimizer(21);
  const std::array<double, 2> rates = {0.1, -0.0};
  const std::array<double, 1> decay = {0.01};
  log->Step(21, std::bit_cast<float>(0x7FC01234U), rates, decay);
  log->SaveBegin(21);
  log->SaveAck(21);
  log->Eval(21, 2.0F);
  log->Epoch(21, 3);
  log->End(21);
}

TEST_F(LogbookRoundTripTest, EveryRecordTypeComesBack) {
  auto log = probe::Logbook::FromEnvironment();
  ASSERT_TRUE(log.IsActive());
  WriteEveryRecord(&log);
  const auto records = Records();
  ASSERT_EQ(records.size(), 13U);
  const auto& start = std::get<StartRecord>(records[0]);
  EXPECT_EQ(start.rank, 1);
  EXPECT_EQ(start.world, 3);
  EXPECT_EQ(start.attempt, 2);
  EXPECT_EQ(start.environment.at("torch"), "1.13");
  EXPECT_EQ(start.environment.count("cpu.flags"), 1U);
  const auto& restored = std::get<RestoredRecord>(records[1]);
  EXPECT_EQ(restored.step, 20);
  EXPECT_EQ(restored.checkpoint, "step-00000020");
  EXPECT_THAT(restored.refused, ElementsAre("step-00000024: torn"));
  EXPECT_EQ(std::get<ReadyRecord>(records[4]).step, 20);
  const auto& micro = std::get<MicroBatchRecord>(records[5]);
  EXPECT_THAT(micro.ids, ElementsAre(5, INT64_MIN, INT64_MAX));
  EXPECT_EQ(micro.micro, 1);
  EXPECT_EQ(micro.worker, 2);
  EXPECT_EQ(micro.content, ContentId("abc"));
  EXPECT_EQ(std::get<OptimizerRecord>(records[6]).step, 21);
  EXPECT_EQ(std::get<SaveBeginRecord>(records[8]).step, 21);
  EXPECT_EQ(std::get<SaveAckRecord>(records[9]).step, 21);
  EXPECT_EQ(std::get<EvalRecord>(records[10]).loss, FloatBits::Of(2.0F));
  EXPECT_EQ(std::get<EpochRecord>(records[11]).epoch, 3);
  EXPECT_EQ(std::get<EndRecord>(records[12]).step, 21);
}

TEST_F(LogbookRoundTripTest, FloatsKeepTheirBitsWithPayloadsOfNanAndSignsOfZero) {
  auto log = probe::Logbook::FromEnvironment();
  WriteEveryRecord(&log);
  const auto step = std::get<StepRecord>(Records()[7]);
  EXPECT_EQ(step.loss.bits, 0x7FC01234U);
  EXPECT_THAT(step.learning_rate, ElementsAre(FloatBits::Of(0.1), FloatBits::Of(-0.0)));
  EXPECT_THAT(step.weight_decay, ElementsAre(FloatBits::Of(0.01)));
}

TEST_F(LogbookRoundTripTest, StateHoldsTheDescriptionAndTheDigestOfTheSlice) {
  auto log = probe::Logbook::FromEnvironment();
  WriteEveryRecord(&log);
  const auto records = Records();
  const auto& tensor = std::get<NamesRecord>(records[2]).tensors.at(0);
  EXPECT_EQ(tensor.Key(), "weight/a.b");
  EXPECT_EQ(tensor.component, "weights");
  EXPECT_EQ(tensor.dtype, DType::kF32);
  EXPECT_EQ(tensor.slice, (Slice{{1, 0}, {2, 3}}));
  EXPECT_EQ(tensor.alias_of, "");
  reprise_digest_sum expected = {};
  reprise_digest_range(&expected, SixValues().data(), 4, 3, 6);
  const auto& state = std::get<StateRecord>(records[3]);
  EXPECT_EQ(state.reading, "ready");
  EXPECT_THAT(state.tensors, ElementsAre(Pair(0, DigestSum{expected.a, expected.b})));
  EXPECT_THAT(state.scalars, ElementsAre(Pair("data.position", "12")));
}

TEST_F(LogbookRoundTripTest, TensorsAreDescribedOnceAndAgainWhenTheyChange) {
  auto log = probe::Logbook::FromEnvironment();
  probe::TensorView view = Matrix(SixValues());
  log.State("step", 1, {view}, {});
  log.State("step", 2, {view}, {});
  view.replica_count = 2;
  log.State("step", 3, {view}, {});
  const auto records = Records();
  ASSERT_EQ(records.size(), 6U);  // start, names, state, state, names, state
  EXPECT_EQ(std::get<StateRecord>(records[3]).tensors.begin()->first, 0);
  EXPECT_EQ(std::get<NamesRecord>(records[4]).tensors.at(0).replica_count, 2);
  EXPECT_EQ(std::get<StateRecord>(records[5]).tensors.begin()->first, 1);
}

TEST_F(LogbookRoundTripTest, OddStringsComeBackAndBytesThatAreNotUtf8AreSpelled) {
  const std::string odd = "q\" \\ / \b\f\n\r\t \x01 \x7F \xC3\xA4 \xF0\x9F\x98\x80 {}[]";
  auto log = probe::Logbook::FromEnvironment();
  log.Restored(0, odd, {"\xFF|\xC3|\xED\xA0\x80|\xC0\xAF|\xF4\x90\x80\x80|\xE2\x82"});
  const auto restored = std::get<RestoredRecord>(Records().at(1));
  EXPECT_EQ(restored.checkpoint, odd);
  EXPECT_THAT(restored.refused,
              ElementsAre(R"(\xff|\xc3|\xed\xa0\x80|\xc0\xaf|\xf4\x90\x80\x80|\xe2\x82)"));
}

TEST_F(LogbookRoundTripTest, AnyBytesInAnyStringAreReadBackWithoutAnError) {
  const bool holds = rc::check([&] {
    const auto bytes = *rc::gen::container<std::string>(rc::gen::nonZero<char>());
    fs::remove(File());
    auto log = probe::Logbook::FromEnvironment();
    log.Start({{bytes, bytes}});
    log.Restored(0, bytes, {bytes, bytes});
    log.State("ready", 0, {}, {{bytes, bytes}});
    const auto logbook = ReadLogbook(File());
    RC_ASSERT(logbook.has_value());
    RC_ASSERT(logbook->records.size() == 3U);
  });
  EXPECT_TRUE(holds);
}

TEST_F(LogbookRoundTripTest, RecordsThatWouldExceedTheLimitAreSplit) {
  const float value = 1;
  const std::string long_name(1 << 20, 'n');
  std::vector<probe::TensorView> views;
  for (int i = 0; i < 20; ++i) {
    views.push_back({.component = "weights",
                     .kind = "w",
                     .path = long_name + std::to_string(i),
                     .dtype = "F32",
                     .data = &value});
  }
  const std::size_t limit = std::size_t{16} << 20;
  auto log = probe::Logbook::FromEnvironment();
  log.State("step", 1, views, {{"large", std::string(limit - 600, 's')}});
  ASSERT_TRUE(log.IsActive());
  std::ifstream file(File(), std::ios::binary);
  std::map<std::string, int> lines;  // by the beginning of the line
  std::size_t sums = 0;
  for (std::string line; std::getline(file, line);) {
    EXPECT_LE(line.size() + 1, limit);
    ++lines[line.substr(0, 11)];
    if (line.starts_with("{\"t\":\"state")) {
      const std::string list = line.substr(0, line.find("\"scalars\""));
      sums += static_cast<std::size_t>(std::count(list.begin(), list.end(), '['));
      --sums;  // the list's own bracket
    }
  }
  EXPECT_EQ(lines["{\"t\":\"names"], 2);
  EXPECT_EQ(lines["{\"t\":\"state"], 2);
  EXPECT_EQ(sums, views.size());
}

// A mutated valid logbook: flipped, cut, doubled or overwritten bytes.
std::string Mutate(std::string text, Random* random) {
  const std::uint64_t changes = 1 + random->Below(4);
  for (std::uint64_t n = 0; n < changes && !text.empty(); ++n) {
    const std::size_t at = random->Below(text.size());
    const std::size_t length = random->Below(40);
    switch (random->Below(4)) {
      case 0:
        text[at] = static_cast<char>(random->Below(256));
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(at, length));
        break;
      case 3:
        text.replace(at, 1, std::string(1, "0123456789\"[]{},:-.e\n"[random->Below(21)]));
        break;
    }
  }
  return text;
}

TEST_F(LogbookRoundTripTest, MutatedLogbooksAreReadOrRefusedWithFileAndLine) {
  auto log = probe::Logbook::FromEnvironment();
  WriteEveryRecord(&log);
  std::stringstream valid;
  valid << std::ifstream(File(), std::ios::binary).rdbuf();
  Random random(20);
  int refused = 0;
  for (int round = 0; round < 600; ++round) {
    const std::string text = Mutate(valid.str(), &random);
    std::ofstream(File(), std::ios::binary | std::ios::trunc) << text;
    const auto logbook = ReadLogbook(File());
    if (!logbook) {
      ++refused;
      ASSERT_EQ(logbook.error().code, ErrorCode::kCorrupt) << logbook.error().ToString();
      ASSERT_THAT(logbook.error().where, HasSubstr(File().string() + ":"));
      ASSERT_FALSE(logbook.error().message.empty());
    }
  }
  EXPECT_GT(refused, 200);
  EXPECT_LT(refused, 600);
}

}  // namespace
}  // namespace reprise
