#include "harness/judge/run_view.h"

#include <gtest/gtest.h>

#include <chrono>

#include "harness/judge/digest_index.h"
#include "harness/judge/layers.h"
#include "harness/judge/testing.h"

namespace reprise {
namespace {

using testing::MakeRun;
using testing::RunSpec;

TensorRecord Record(Slice slice, int replica_count = 1) {
  TensorRecord record;
  record.component = "weights";
  record.kind = "weight";
  record.path = "w";
  record.global_shape = {4};
  record.slice = std::move(slice);
  record.replica_count = replica_count;
  return record;
}

AttemptEvidence TwoRanks(const TensorRecord& first, DigestSum a, const TensorRecord& second,
                         DigestSum b) {
  AttemptEvidence attempt;
  attempt.world = 2;
  attempt.logbooks = {{0, {NamesRecord{{first}}, StateRecord{"step", 1, {{0, a}}, {}}}, false},
                      {1, {NamesRecord{{second}}, StateRecord{"step", 1, {{0, b}}, {}}}, false}};
  return attempt;
}

TensorReading ReadOnly(const AttemptEvidence& attempt) {
  const RunView view(attempt);
  return view.Read(*view.FindState("step", 1), view.FindTensor("weight/w"));
}

TEST(RunViewTest, ShardsAreAdded) {
  const TensorReading reading =
      ReadOnly(TwoRanks(Record({{0}, {2}}), {1, 2}, Record({{2}, {2}}), {10, 20}));
  EXPECT_TRUE(reading.covered);
  EXPECT_EQ(reading.sum, (DigestSum{11, 22}));
}

TEST(RunViewTest, ReplicasAreComparedAndNotAdded) {
  const Slice whole = {{0}, {4}};
  TensorReading reading = ReadOnly(TwoRanks(Record(whole, 2), {1, 2}, Record(whole, 2), {1, 2}));
  EXPECT_TRUE(reading.covered);
  EXPECT_EQ(reading.sum, (DigestSum{1, 2}));
  EXPECT_EQ(reading.disagreeing_rank, -1);
  reading = ReadOnly(TwoRanks(Record(whole, 2), {1, 2}, Record(whole, 2), {1, 3}));
  EXPECT_EQ(reading.disagreeing_rank, 1);
}

TEST(RunViewTest, HolesAndOverlapsAreNotCovered) {
  EXPECT_FALSE(
      ReadOnly(TwoRanks(Record({{0}, {1}}), {1, 2}, Record({{2}, {2}}), {10, 20})).covered);
  EXPECT_FALSE(
      ReadOnly(TwoRanks(Record({{0}, {3}}), {1, 2}, Record({{2}, {2}}), {10, 20})).covered);
  EXPECT_FALSE(ReadOnly(TwoRanks(Record({{0}, {4}}), {1, 2}, Record({{0}, {4}}), {1, 2})).covered);
}

TEST(RunViewTest, TensorsComeInCausalOrderOfTheirComponents) {
  const AttemptEvidence attempt = MakeRun({});
  const RunView view(attempt);
  EXPECT_EQ(view.Tensors()[static_cast<std::size_t>(view.Order().front())].record.component,
            "weights");
  EXPECT_EQ(view.Tensors()[static_cast<std::size_t>(view.Order().back())].record.component,
            "rng.torch");
}

TEST(RunViewTest, StatesOfAllWorldSizesHaveEqualSums) {
  const AttemptEvidence one = MakeRun({});
  const RunView reference(one);
  for (int world = 2; world <= 5; ++world) {
    RunSpec spec;
    spec.world = world;
    const AttemptEvidence other = MakeRun(spec);
    const RunView view(other);
    const LayerComparison comparison = Compare({&reference, &view, nullptr, 0, true});
    EXPECT_TRUE(comparison.differences.empty()) << world;
    EXPECT_GT(comparison.compared_count, 100);
  }
}

TEST(DigestIndexTest, NamesWhereWrongBitsComeFrom) {
  RunSpec spec;
  spec.world = 2;
  const AttemptEvidence attempt = MakeRun(spec);
  const RunView view(attempt);
  DigestIndex index(view);
  const int moment = view.FindTensor("exp_avg/mlp");
  const int ema = view.FindTensor("ema/embed");
  const auto sum_at = [&](int tensor, std::int64_t step) {
    return view.Read(*view.FindState("step", step), tensor).sum;
  };
  EXPECT_EQ(Show(index.Find(moment, 8, {})), "all zero");
  EXPECT_EQ(Show(index.Find(moment, 8, sum_at(moment, 4))), "equal to the reference at step 4");
  EXPECT_EQ(Show(index.Find(moment, 8, sum_at(ema, 8))),
            "equal to ema/embed of the reference at step 8");
  EXPECT_EQ(Show(index.Find(moment, 8, {5, 6})), "");
}

// 600 tensors, 8 steps, 4 ranks; the printed figure is what docs and benchmarks quote.
AttemptEvidence MakeLarge() {
  AttemptEvidence attempt;
  attempt.world = 4;
  for (int rank = 0; rank < 4; ++rank) {
    Logbook book;
    book.rank = rank;
    NamesRecord names;
    StateRecord state{"ready", 0, {}, {}};
    for (int i = 0; i < 600; ++i) {
      TensorRecord record = Record({{rank}, {1}});
      record.path = "blocks." + std::to_string(i) + ".attention.weight";
      names.tensors.push_back(record);
      state.tensors[i] = {static_cast<std::uint64_t>(i * 4 + rank), 1};
    }
    book.records = {names, RestoredRecord{0, "", {}}, ReadyRecord{0}, state};
    state.reading = "step";
    for (std::int64_t step = 1; step <= 8; ++step) {
      book.records.emplace_back(StepRecord{step, FloatBits::Of(1.0F), {}, {}});
      state.step = step;
      book.records.emplace_back(state);
    }
    book.records.emplace_back(EndRecord{8});
    attempt.logbooks.push_back(std::move(book));
    attempt.result.ranks.emplace_back();
  }
  return attempt;
}

TEST(JudgeSizeTest, ComparesEveryTensorOfALargeCase) {
  const AttemptEvidence attempt = MakeLarge();
  const Case the_case;
  const Target target;
  JudgeInput input;
  input.the_case = &the_case;
  input.target = &target;
  input.reference = &attempt;
  input.attempts = {attempt};
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(Judge(input).verdict, Verdict::kExact);
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - begin;
  RecordProperty("judge_ms", std::to_string(spent.count()));
  auto& state = std::get<StateRecord>(input.attempts[0].logbooks[3].records.at(19));
  state.tensors[599].b ^= 1;
  const Outcome outcome = Judge(input);
  EXPECT_EQ(outcome.verdict, Verdict::kDiverged);
  EXPECT_EQ(outcome.divergence->step, 8);
  EXPECT_EQ(outcome.divergence->name, "weight/blocks.599.attention.weight");
}

}  // namespace
}  // namespace reprise
