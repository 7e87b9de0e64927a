#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/judge/testing.h"

namespace reprise {
namespace {

using testing::AddOperation;
using testing::EndWith;
using ::testing::HasSubstr;
using testing::MakeRun;
using testing::MakeStored;
using testing::Place;
using testing::RunSpec;
using testing::Scene;

// The restart never came to a step: it ended with an error.
void Refuse(Scene& scene, const std::string& line) {
  scene.restart.restores = false;
  scene.edit = [line](AttemptEvidence&, AttemptEvidence& restart) {
    restart.logbooks.at(0).records.resize(2);
    EndWith(restart, RankEnd::kExited, 1, line);
  };
}

TEST(JudgeTest, ARightRestartIsExact) {
  const Outcome outcome = Scene().Judge();
  EXPECT_EQ(outcome.verdict, Verdict::kExact) << outcome.why;
  EXPECT_FALSE(outcome.divergence.has_value());
  EXPECT_EQ(outcome.restored_step, 8);
  EXPECT_EQ(outcome.expected_step, 8);
  EXPECT_EQ(outcome.lost_steps, 1);
}

TEST(JudgeTest, EveryPairOfWorldSizesIsExact) {
  for (int before = 1; before <= 4; ++before) {
    for (int after = 1; after <= 4; ++after) {
      Scene scene;
      scene.reference.world = scene.killed.world = before;
      scene.restart.world = after;
      const Outcome outcome = scene.Judge();
      EXPECT_EQ(outcome.verdict, Verdict::kExact)
          << before << " to " << after << ": " << outcome.why;
    }
  }
}

TEST(JudgeTest, WithoutWorldInvarianceOnlyTheStateIsComparedAndItSaysSo) {
  Scene scene;
  scene.target.world_invariant = false;
  scene.restart.world = 2;
  scene.restart.loss = [](std::int64_t) { return 1.0F; };
  const Outcome outcome = scene.Judge();
  EXPECT_EQ(outcome.verdict, Verdict::kExact) << outcome.why;
  EXPECT_THAT(outcome.why, HasSubstr("only the restored state was compared"));
  scene.target.world_invariant = true;
  EXPECT_EQ(scene.Judge().verdict, Verdict::kDiverged);
}

TEST(JudgeTest, AnotherUninterruptedRunIsComparedFromItsFirstStep) {
  const AttemptEvidence reference = MakeRun({});
  const Case the_case;
  const Target target;
  JudgeInput input;
  input.the_case = &the_case;
  input.target = &target;
  input.reference = &reference;
  RunSpec spec;
  input.attempts = {MakeRun(spec)};
  EXPECT_EQ(Judge(input).verdict, Verdict::kExact);
  spec.loss = [](std::int64_t step) {
    return step == 7 ? 9.0F : 4.0F / static_cast<float>(step + 1);
  };
  input.attempts = {MakeRun(spec)};
  const Outcome outcome = Judge(input);
  EXPECT_EQ(outcome.verdict, Verdict::kDiverged);
  EXPECT_EQ(outcome.divergence->step, 7);
  EXPECT_EQ(outcome.divergence->layer, Layer::kD6);
  EXPECT_EQ(outcome.divergence->name, "loss");
}

TEST(JudgeTest, AKilledAttemptThatIsNotTheReferenceCannotBeJudged) {
  Scene scene;
  scene.killed.loss = [](std::int64_t step) {
    return step == 6 ? 9.0F : 4.0F / static_cast<float>(step + 1);
  };
  const Outcome outcome = scene.Judge();
  EXPECT_EQ(outcome.verdict, Verdict::kCannotJudge);
  EXPECT_EQ(outcome.divergence->step, 6);
}

TEST(JudgeTest, AFaultThatDidNotFireIsNotExercised) {
  Scene scene;
  scene.killed.ends = true;
  scene.killed.to = testing::kSteps;
  EXPECT_EQ(scene.Judge().verdict, Verdict::kNotExercised);
}

TEST(JudgeTest, EachPlannedKillMustHaveFired) {
  Scene scene;
  scene.the_case.faults.push_back({"kill.step", 1, {{"step", "10"}}});
  EXPECT_EQ(scene.Judge().verdict, Verdict::kNotExercised);
}

TEST(JudgeTest, DamageThatChangedNothingIsNotExercised) {
  Scene scene;
  scene.the_case.faults = {{"damage.drop", 0, {}}};
  scene.killed.ends = true;
  scene.killed.to = testing::kSteps;
  EXPECT_EQ(scene.Judge().verdict, Verdict::kNotExercised);
}

TEST(JudgeTest, ARestartWithoutARestoredRecordCannotBeJudged) {
  Scene scene;
  scene.restart.restores = false;
  EXPECT_EQ(scene.Judge().verdict, Verdict::kCannotJudge);
}

TEST(JudgeTest, ASaveThatWasNotAcknowledgedMayBeRestored) {
  Scene scene;
  scene.killed.to = 8;
  scene.killed.acknowledged = {4};
  for (const std::int64_t step : {4, 8}) {
    scene.restart.from = step;
    scene.restart.checkpoint = step == 4 ? "step-4" : "step-8";
    if (step == 4) {
      scene.stored = {MakeStored(4)};
    }
    const Outcome outcome = scene.Judge();
    EXPECT_EQ(outcome.verdict, Verdict::kExact) << step << outcome.why;
    scene.stored = {MakeStored(8), MakeStored(4)};
  }
}

TEST(JudgeTest, WithNothingAcknowledgedAFreshStartAndARefusalAreRight) {
  Scene scene;
  scene.killed.to = 3;
  scene.stored = {};
  scene.restart.from = 0;
  scene.restart.checkpoint = "";
  EXPECT_EQ(scene.Judge().verdict, Verdict::kExact);
  Refuse(scene, "no checkpoint");
  EXPECT_EQ(scene.Judge().verdict, Verdict::kRefused);
}

TEST(JudgeTest, AFreshStartAfterAnAcknowledgedSaveIsASilentRestart) {
  Scene scene;
  scene.restart.from = 0;
  const Outcome outcome = scene.Judge();
  EXPECT_EQ(outcome.verdict, Verdict::kSilentRestart);
  EXPECT_EQ(outcome.divergence->layer, Layer::kD0);
  EXPECT_EQ(outcome.divergence->name, "restored step");
  EXPECT_EQ(outcome.cause, "fallback: silent restart from scratch");
}

TEST(JudgeTest, AnOlderCheckpointBesideASoundNewerOneIsLostProgress) {
  Scene scene;
  scene.restart.from = 4;
  scene.restart.checkpoint = "step-4";
  const Outcome outcome = scene.Judge();
  EXPECT_EQ(outcome.verdict, Verdict::kLostProgress);
  EXPECT_EQ(outcome.cause, "selection: order");
  EXPECT_EQ(outcome.lost_steps, 5);
}

TEST(JudgeTest, AnErrorBesideAGoodCheckpointIsRefusedWrongly) {
  Scene scene;
  Refuse(scene, "cannot open anything");
  const Outcome outcome = scene.Judge();
  EXPECT_EQ(outcome.verdict, Verdict::kRefusedWrongly);
  EXPECT_THAT(outcome.why, HasSubstr("cannot open anything"));
}

TEST(JudgeTest, AnErrorWithNothingSoundLeftIsACheckpointLost) {
  Scene scene;
  Refuse(scene, "bad file");
  scene.stored = {};
  EXPECT_EQ(scene.Judge().verdict, Verdict::kCheckpointLost);
}

TEST(JudgeTest, AfterDamageARefusalMustNameTheFile) {
  Scene scene;
  scene.damaged_files = {"step-8/rank-0.safetensors"};
  scene.stored[0].error = "checksum";
  Refuse(scene, "step-8/rank-0.safetensors: checksum is wrong");
  EXPECT_EQ(scene.Judge().verdict, Verdict::kRefused);
  EXPECT_TRUE(scene.Judge().announced);
  Refuse(scene, "load failed");
  EXPECT_EQ(scene.Judge().verdict, Verdict::kRefusedWrongly);
}

TEST(JudgeTest, AfterDamageTheNextOlderCheckpointIsAnExactFallback) {
  Scene scene;
  scene.damaged_files = {"step-8/rank-0.safetensors"};
  scene.stored[0].error = "checksum";
  scene.restart.from = 4;
  scene.restart.checkpoint = "step-4";
  EXPECT_EQ(scene.Judge().verdict, Verdict::kExactFallback);
  EXPECT_FALSE(scene.Judge().announced);
  scene.restart.refused = {"step-8: rank-0.safetensors: checksum is wrong"};
  EXPECT_TRUE(scene.Judge().announced);
  scene.restart.loss = [](std::int64_t) { return 1.0F; };
  EXPECT_EQ(scene.Judge().verdict, Verdict::kDiverged);
}

TEST(JudgeTest, DamageThatIsLoadedAndHarmlessIsExact) {
  Scene scene;
  scene.damaged_files = {"step-8/notes.txt"};
  EXPECT_EQ(scene.Judge().verdict, Verdict::kExact);
}

TEST(JudgeTest, EndingEarlyIsShortAndEndingLateIsOverrun) {
  Scene scene;
  scene.restart.to = 11;
  EXPECT_EQ(scene.Judge().verdict, Verdict::kShort);
  scene.restart.to = 13;
  EXPECT_EQ(scene.Judge().verdict, Verdict::kOverrun);
  EXPECT_EQ(scene.Judge().divergence->name, "last step");
}

TEST(JudgeTest, ASignalOrAnErrorAfterAGoodRestartIsCrashed) {
  for (const RankEnd end : {RankEnd::kSignalled, RankEnd::kExited}) {
    Scene scene;
    scene.restart.to = 10;
    scene.edit = [end](AttemptEvidence&, AttemptEvidence& restart) {
      EndWith(restart, end, 11, "boom");
    };
    const Outcome outcome = scene.Judge();
    EXPECT_EQ(outcome.verdict, Verdict::kCrashed);
    EXPECT_EQ(outcome.divergence->step, 10);
  }
}

TEST(JudgeTest, NoProgressIsHungWithTheStacks) {
  Scene scene;
  scene.restart.to = 10;
  scene.edit = [](AttemptEvidence&, AttemptEvidence& restart) {
    restart.result.end = AttemptEnd::kHung;
    restart.result.stacks = "rank 0: futex_wait";
  };
  const Outcome outcome = scene.Judge();
  EXPECT_EQ(outcome.verdict, Verdict::kHung);
  EXPECT_EQ(outcome.divergence->detail, "rank 0: futex_wait");
}

TEST(JudgeTest, ARestartThatIsKilledAgainIsJudgedByItsOwnPart) {
  Scene scene;
  const AttemptEvidence reference = MakeRun({});
  RunSpec middle = scene.restart;
  middle.to = 10;
  middle.ends = false;
  JudgeInput input;
  input.the_case = &scene.the_case;
  input.target = &scene.target;
  input.reference = &reference;
  input.attempts = {MakeRun(scene.killed), MakeRun(middle), MakeRun(scene.restart)};
  input.stored = scene.stored;
  input.format_known = true;
  EXPECT_EQ(Judge(input).verdict, Verdict::kExact);
  middle.loss = [](std::int64_t) { return 1.0F; };
  input.attempts[1] = MakeRun(middle);
  EXPECT_EQ(Judge(input).verdict, Verdict::kDiverged);
}

TEST(JudgeTest, FirstDifferenceFollowsTheLayersAndTheRestAreConsequences) {
  Scene scene;
  scene.restart.bits_of = [](const std::string& key, std::int64_t, const Place& place) {
    const bool is_moment = key.rfind("exp_avg", 0) == 0;
    return std::optional(is_moment || place.step > 8 ? place.step - 1 : place.step);
  };
  scene.restart.loss = [](std::int64_t) { return 1.0F; };
  const Outcome outcome = scene.Judge();
  EXPECT_EQ(outcome.divergence->layer, Layer::kD1);
  EXPECT_EQ(outcome.divergence->step, 8);
  EXPECT_EQ(outcome.divergence->name, "exp_avg/embed");
  EXPECT_THAT(outcome.divergence->detail, HasSubstr("equal to the reference at step 7"));
  EXPECT_THAT(outcome.consequences, ::testing::Contains(HasSubstr("D3 loss from step 9")));
}

TEST(JudgeTest, EachKindOfValueHasItsLayer) {
  struct Planted {
    std::function<void(RunSpec&)> plant;
    Layer layer;
    std::int64_t step;
    std::string name;
  };
  const std::vector<Planted> all = {
      {[](RunSpec& s) { s.tied = false; }, Layer::kD1, 8, "weight/head"},
      {[](RunSpec& s) {
         s.scalar = [](const std::string& name, const Place& place) {
           return name == "data.position" ? "3" : std::to_string(place.step);
         };
       },
       Layer::kD4, 8, "data.position"},
      {[](RunSpec& s) { s.batch_of = [](std::int64_t step) { return step - 8; }; }, Layer::kD2, 9,
       "sample ids"},
      {[](RunSpec& s) {
         s.bits_of = [](const std::string& key, std::int64_t, const Place& place) {
           return std::optional(key == "rng/worker-1" ? 0 : place.step);
         };
       },
       Layer::kD3, 8, "rng/worker-1"},
      {[](RunSpec& s) { s.loss = [](std::int64_t) { return 1.0F; }; }, Layer::kD3, 9, "loss"},
      {[](RunSpec& s) { s.rate = [](std::int64_t) { return 0.5; }; }, Layer::kD4, 9,
       "learning rate"},
      {[](RunSpec& s) {
         s.bits_of = [](const std::string&, std::int64_t, const Place& place) {
           return std::optional(place.step > 8 ? 0 : place.step);
         };
       },
       Layer::kD5, 9, "weight/embed"},
      {[](RunSpec& s) {
         s.batch_of = [](std::int64_t step) { return step > 10 ? step - 5 : step; };
       },
       Layer::kD6, 11, "sample ids"}};
  for (const Planted& planted : all) {
    Scene scene;
    planted.plant(scene.restart);
    const Outcome outcome = scene.Judge();
    ASSERT_TRUE(outcome.divergence.has_value()) << planted.name;
    EXPECT_EQ(outcome.verdict, Verdict::kDiverged);
    EXPECT_EQ(outcome.divergence->layer, planted.layer) << planted.name;
    EXPECT_EQ(outcome.divergence->step, planted.step) << planted.name;
    EXPECT_EQ(outcome.divergence->name, planted.name);
  }
}

TEST(JudgeTest, RanksThatRestoreDifferentStepsDivergeInD0) {
  Scene scene;
  scene.restart.world = 2;
  scene.edit = [](AttemptEvidence&, AttemptEvidence& restart) {
    std::get<RestoredRecord>(restart.logbooks.at(1).records.at(2)).step = 4;
  };
  const Outcome outcome = scene.Judge();
  EXPECT_EQ(outcome.verdict, Verdict::kDiverged);
  EXPECT_EQ(outcome.divergence->layer, Layer::kD0);
  EXPECT_EQ(outcome.divergence->rank, 1);
}

TEST(JudgeTest, AStateThatIsNotStoredButExactIsExact) {
  Scene scene;
  scene.stored[0].tensors.erase("rng/worker-0");
  EXPECT_EQ(scene.Judge().verdict, Verdict::kExact);
}

// It was once compared number by number up to the last step that a logbook names.
TEST(JudgeTest, AStepFarBehindTheOthersEndsInAVerdictAndNotInALoop) {
  Scene scene;
  scene.edit = [](AttemptEvidence&, AttemptEvidence& restart) {
    StepRecord far;
    far.step = 999'999'999'999'999;
    restart.logbooks.at(0).records.emplace_back(far);
  };
  const Outcome outcome = scene.Judge();
  EXPECT_EQ(outcome.verdict, Verdict::kOverrun) << outcome.why;
}

}  // namespace
}  // namespace reprise
