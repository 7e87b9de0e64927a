// Cases of several lives, and what is left when they are over.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/judge/testing.h"

namespace reprise {
namespace {

using testing::AddOperation;
using testing::EndWith;
using testing::FinishedScene;
using ::testing::HasSubstr;
using testing::MakeRun;
using testing::MakeStored;
using testing::RunSpec;
using testing::Scene;

// A killed life to step 9, a middle one from `middle.from`, and the last one.
struct Chain {
  Chain() {
    middle = scene.restart;
    middle.to = 10;
    middle.ends = false;
    scene.the_case.faults.push_back({"kill.step", 1, {{"step", "10"}}});
  }

  [[nodiscard]] Outcome Judge() const {
    const AttemptEvidence reference = MakeRun(scene.reference);
    JudgeInput input;
    input.the_case = &scene.the_case;
    input.target = &scene.target;
    input.reference = &reference;
    input.attempts = {MakeRun(scene.killed), MakeRun(middle), MakeRun(scene.restart)};
    input.stored = scene.stored;
    input.format_known = scene.format_known;
    input.damaged_files_after = damaged;
    if (edit) {
      edit(input.attempts[1]);
    }
    return reprise::Judge(input);
  }

  Scene scene;
  RunSpec middle;
  std::vector<std::vector<std::string>> damaged;
  std::function<void(AttemptEvidence& middle)> edit;
};

// The newest checkpoint is damaged after the first life; the middle one falls back to step 4.
Chain DamagedChain() {
  Chain chain;
  chain.scene.the_case.faults.push_back({"damage.flip", 0, {}});
  chain.damaged = {{"step-8/rank-0.safetensors"}};
  chain.scene.stored[0].error = "checksum";
  chain.middle.from = 4;
  chain.middle.checkpoint = "step-4";
  chain.middle.to = 7;
  chain.scene.restart.from = 4;
  chain.scene.restart.checkpoint = "step-4";
  return chain;
}

void RefuseWith(AttemptEvidence& attempt, const std::string& line) {
  attempt.logbooks.at(0).records.resize(2);
  std::erase_if(attempt.result.events, [](const AttemptEvent& event) {
    return std::holds_alternative<FaultEvent>(event);
  });
  EndWith(attempt, RankEnd::kExited, 1, line);
}

TEST(LivesTest, DamageExcusesTheLifeThatMeetsItAlthoughMoreFollow) {
  const Outcome outcome = DamagedChain().Judge();
  EXPECT_FALSE(IsFinding(outcome.verdict)) << outcome.why;
  EXPECT_EQ(outcome.verdict, Verdict::kExact) << outcome.why;
  Chain undamaged = DamagedChain();
  undamaged.scene.the_case.faults.pop_back();
  undamaged.damaged = {};
  EXPECT_EQ(undamaged.Judge().verdict, Verdict::kLostProgress);
}

TEST(LivesTest, DamageDoesNotExcuseALaterLife) {
  Chain chain = DamagedChain();
  chain.middle.to = 10;  // acknowledges step 8 again
  chain.scene.stored = {MakeStored(8), MakeStored(4)};
  EXPECT_EQ(chain.Judge().verdict, Verdict::kLostProgress);
  chain.scene.stored[0].error = "checksum";
  EXPECT_EQ(chain.Judge().verdict, Verdict::kLostProgress);
  chain.damaged = {{"step-8/rank-0.safetensors"}, {"step-8/rank-0.safetensors"}};
  EXPECT_EQ(chain.Judge().verdict, Verdict::kExactFallback) << chain.Judge().why;
}

TEST(LivesTest, DamageStillExcusesWhereALifeRestoredNothing) {
  Chain chain = DamagedChain();
  chain.edit = [](AttemptEvidence& middle) { middle.logbooks.at(0).records.resize(2); };
  EXPECT_EQ(chain.Judge().verdict, Verdict::kExactFallback) << chain.Judge().why;
}

TEST(LivesTest, DamageAfterALaterLifeExcusesNoEarlierOne) {
  Chain chain = DamagedChain();
  chain.scene.the_case.faults.back().attempt = 1;
  chain.damaged = {{}, {"step-8/rank-0.safetensors"}};
  EXPECT_EQ(chain.Judge().verdict, Verdict::kLostProgress);
}

TEST(LivesTest, ALifeThatFailsBeforeItsPlannedKillIsTheFinding) {
  Chain chain;
  EXPECT_EQ(chain.Judge().verdict, Verdict::kExact) << chain.Judge().why;
  chain.edit = [](AttemptEvidence& middle) { RefuseWith(middle, "cannot load"); };
  const Outcome refused = chain.Judge();
  EXPECT_EQ(refused.verdict, Verdict::kRefusedWrongly);
  EXPECT_THAT(refused.why, HasSubstr("cannot load"));
  chain.middle.ends = true;  // was not killed
  chain.edit = [](AttemptEvidence& middle) { EndWith(middle, RankEnd::kExited, 1, "boom"); };
  EXPECT_EQ(chain.Judge().verdict, Verdict::kCrashed);
}

TEST(LivesTest, ALifeThatEndsWellBeforeItsPlannedKillExercisesNothing) {
  Chain chain;
  chain.middle.to = testing::kSteps;
  chain.middle.ends = true;
  EXPECT_EQ(chain.Judge().verdict, Verdict::kNotExercised);
}

TEST(LivesTest, ATargetThatSavesNothingExercisesNothing) {
  Scene scene;
  scene.stored = {};
  scene.reference.begun = scene.reference.acknowledged = {};
  scene.killed.begun = scene.killed.acknowledged = {};
  scene.restart.begun = scene.restart.acknowledged = {};
  scene.restart.from = 0;
  scene.restart.checkpoint = "";
  const Outcome outcome = scene.Judge();
  EXPECT_EQ(outcome.verdict, Verdict::kNotExercised);
  EXPECT_THAT(outcome.why, HasSubstr("the uninterrupted run saved nothing"));
  scene.edit = [](AttemptEvidence& killed, AttemptEvidence&) {
    Operation write;
    write.kind = OperationKind::kWrite;
    write.path = "model.bin";
    AddOperation(killed, -1, write);
  };
  EXPECT_EQ(scene.Judge().verdict, Verdict::kExact);
}

TEST(LivesTest, AKillBeforeTheFirstSaveOfATargetThatSavesIsExact) {
  Scene scene;
  scene.stored = {};
  scene.killed.to = 3;
  scene.restart.from = 0;
  scene.restart.checkpoint = "";
  EXPECT_EQ(scene.Judge().verdict, Verdict::kExact) << scene.Judge().why;
}

// A restart from step 4 that acknowledges step 8.
Scene SceneThatSavesAgain() {
  Scene scene;
  scene.killed.to = 5;
  scene.restart.from = 4;
  scene.restart.checkpoint = "step-4";
  scene.stored = {MakeStored(4)};
  scene.stored_at_end_known = true;
  scene.stored_at_end = {MakeStored(8), MakeStored(4)};
  return scene;
}

TEST(LivesTest, WhatTheLastLifeAcknowledgedMustBeThereAtTheEnd) {
  Scene scene = SceneThatSavesAgain();
  EXPECT_EQ(scene.Judge().verdict, Verdict::kExact) << scene.Judge().why;
  scene.stored_at_end[0].error = "checksum";
  Outcome outcome = scene.Judge();
  EXPECT_EQ(outcome.verdict, Verdict::kLostProgress);
  ASSERT_TRUE(outcome.divergence.has_value());
  EXPECT_EQ(outcome.divergence->layer, Layer::kD0);
  EXPECT_EQ(outcome.divergence->name, "checkpoint at the end");
  EXPECT_THAT(outcome.evidence, HasSubstr("step-8: checksum"));
  scene.stored_at_end[1].error = "checksum";
  EXPECT_EQ(scene.Judge().verdict, Verdict::kCheckpointLost);
  scene.stored_at_end = {};
  EXPECT_EQ(scene.Judge().verdict, Verdict::kCheckpointLost);
  scene.stored_at_end_known = false;
  EXPECT_EQ(scene.Judge().verdict, Verdict::kExact);
}

TEST(LivesTest, WhatAnEarlierLifeAcknowledgedMustBeThereAtTheEndUnlessItWasDamaged) {
  Scene scene;
  scene.stored_at_end_known = true;
  scene.stored_at_end = {MakeStored(4)};  // the last life acknowledged nothing
  EXPECT_EQ(scene.Judge().verdict, Verdict::kExact) << scene.Judge().why;
  scene.stored_at_end = {};
  EXPECT_EQ(scene.Judge().verdict, Verdict::kCheckpointLost);
  scene.damaged_files = {"step-8/notes.txt"};
  EXPECT_EQ(scene.Judge().verdict, Verdict::kExact);
}

TEST(FinishedAgainTest, IsExactWhenNothingChanges) {
  const Outcome outcome = FinishedScene().Judge();
  EXPECT_EQ(outcome.verdict, Verdict::kExact) << outcome.why;
}

TEST(FinishedAgainTest, MayEndWithoutLoadingAnything) {
  Scene scene = FinishedScene();
  scene.edit = [](AttemptEvidence&, AttemptEvidence& again) { again.logbooks.clear(); };
  EXPECT_EQ(scene.Judge().verdict, Verdict::kExact) << scene.Judge().why;
  scene.the_case.faults = {{"kill.step", 0, {{"step", "9"}}}};
  scene.killed.ends = false;
  EXPECT_EQ(scene.Judge().verdict, Verdict::kCannotJudge);
}

TEST(FinishedAgainTest, TrainingOnIsAnOverrunAndNamed) {
  Scene scene = FinishedScene();
  scene.restart.to = testing::kSteps + 1;
  const Outcome outcome = scene.Judge();
  EXPECT_EQ(outcome.verdict, Verdict::kOverrun) << outcome.why;
  EXPECT_EQ(outcome.cause, "finish: trained on after the last step");
}

TEST(FinishedAgainTest, AChangedOrLostNewestCheckpointIsFoundAndNamed) {
  Scene scene = FinishedScene();
  scene.stored_at_end[0].scalars["step"] = "9";
  Outcome outcome = scene.Judge();
  EXPECT_EQ(outcome.verdict, Verdict::kDiverged);
  EXPECT_EQ(outcome.cause, "finish: newest checkpoint changed");
  EXPECT_THAT(outcome.divergence->detail, HasSubstr("first in step"));
  scene = FinishedScene();
  scene.stored_at_end[0].tensors.begin()->second.sum += DigestSum{1, 0};
  EXPECT_EQ(scene.Judge().cause, "finish: newest checkpoint changed");
  scene = FinishedScene();
  scene.stored_at_end.erase(scene.stored_at_end.begin());
  outcome = scene.Judge();
  EXPECT_EQ(outcome.verdict, Verdict::kDiverged) << outcome.why;
  EXPECT_EQ(outcome.divergence->name, "newest checkpoint");
}

// One path, overwritten in place after step 8 was acknowledged; the restart refuses.
Scene SceneOverwritten() {
  Scene scene;
  scene.format_known = false;
  scene.stored = {};
  scene.restart.restores = false;
  scene.edit = [](AttemptEvidence& killed, AttemptEvidence& restart) {
    Operation open;
    open.path = "model.bin";
    open.creates = open.truncates = true;
    AddOperation(killed, 8, open);
    open.creates = false;
    AddOperation(killed, -1, open);
    RefuseWith(restart, "unexpected end of file");
  };
  return scene;
}

TEST(LivesTest, ARefusalAfterTheLastGoodCheckpointWasDestroyedIsALoss) {
  const Outcome outcome = SceneOverwritten().Judge();
  EXPECT_EQ(outcome.verdict, Verdict::kCheckpointLost);
  EXPECT_EQ(outcome.cause, "checkpoint: last good one destroyed");
  EXPECT_THAT(outcome.why, HasSubstr("unexpected end of file"));
}

TEST(LivesTest, ARefusalBesideAnUntouchedCheckpointOfUnknownFormatIsRefusedWrongly) {
  Scene scene = SceneOverwritten();
  const auto edit = scene.edit;
  scene.edit = [edit](AttemptEvidence& killed, AttemptEvidence& restart) {
    edit(killed, restart);
    killed.result.events.pop_back();  // the open that truncates
  };
  EXPECT_EQ(scene.Judge().verdict, Verdict::kRefusedWrongly);
}

}  // namespace
}  // namespace reprise
