#include "harness/judge/completeness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "harness/judge/testing.h"

namespace reprise {
namespace {

using ::testing::HasSubstr;
using testing::MakeRun;
using testing::MakeStored;
using testing::Place;
using testing::Scene;
using Drops = std::function<bool(const LogRecord&)>;

bool IsState(const LogRecord& record, const std::string& reading, std::int64_t after = -1) {
  const auto* state = std::get_if<StateRecord>(&record);
  return state != nullptr && (reading.empty() || state->reading == reading) && state->step > after;
}

template <typename Record>
bool Is(const LogRecord& record) {
  return std::holds_alternative<Record>(record);
}

void Drop(AttemptEvidence& attempt, const Drops& drops, std::size_t rank = 0) {
  std::erase_if(attempt.logbooks.at(rank).records, drops);
}

struct Gap {
  std::string why;
  Drops drops;
};

std::vector<Gap> Gaps() {
  return {{"no state of the reading \"restored\" at step 4",
           [](const LogRecord& r) { return IsState(r, ""); }},
          {"no state after step 5", [](const LogRecord& r) { return IsState(r, "step"); }},
          {"no state of the reading \"ready\" at step 4",
           [](const LogRecord& r) { return IsState(r, "ready"); }},
          {"no state of the reading \"restored\" at step 4",
           [](const LogRecord& r) { return IsState(r, "restored"); }},
          {"no state after step 8", [](const LogRecord& r) { return IsState(r, "step", 7); }},
          {"no state of the reading \"request\" at step 8",
           [](const LogRecord& r) { return IsState(r, "request"); }},
          {"no step 5", Is<StepRecord>},
          {"no end", Is<EndRecord>},
          {"no beginning of the save of step 8", Is<SaveBeginRecord>},
          {"no acknowledgement of the save of step 8", Is<SaveAckRecord>},
          {"no evaluation after step 6", Is<EvalRecord>},
          {"no beginning of an epoch at step 5", Is<EpochRecord>},
          {"no step 9", [](const LogRecord& r) {
             const auto* step = std::get_if<StepRecord>(&r);
             return step != nullptr && step->step == 9;
           }}};
}

// A restart from step 4 that saves once more.
Scene SceneFromStep4(int world) {
  Scene scene;
  scene.killed.to = 5;
  scene.reference.world = scene.killed.world = scene.restart.world = world;
  scene.restart.from = 4;
  scene.restart.checkpoint = "step-4";
  scene.stored = {MakeStored(4)};
  return scene;
}

TEST(CompletenessTest, ARestartThatLacksWhatTheReferenceRecordedIsNotExact) {
  for (const int world : {1, 2}) {
    EXPECT_EQ(SceneFromStep4(world).Judge().verdict, Verdict::kExact);
    for (const Gap& gap : Gaps()) {
      Scene scene = SceneFromStep4(world);
      scene.edit = [&](AttemptEvidence&, AttemptEvidence& restart) {
        Drop(restart, gap.drops, static_cast<std::size_t>(world - 1));
      };
      const Outcome outcome = scene.Judge();
      EXPECT_EQ(outcome.verdict, Verdict::kCannotJudge) << gap.why;
      EXPECT_THAT(outcome.why, HasSubstr("the restart recorded " + gap.why));
    }
  }
}

TEST(CompletenessTest, AGapIsFoundAtAnotherWorldSizeToo) {
  for (const std::size_t rank : {0U, 1U}) {
    for (const char* reading : {"step", "ready"}) {
      Scene scene = SceneFromStep4(1);
      scene.restart.world = 2;
      EXPECT_EQ(scene.Judge().verdict, Verdict::kExact) << scene.Judge().why;
      scene.edit = [&](AttemptEvidence&, AttemptEvidence& restart) {
        Drop(
            restart, [&](const LogRecord& r) { return IsState(r, reading); }, rank);
      };
      EXPECT_EQ(scene.Judge().verdict, Verdict::kCannotJudge) << reading << rank;
    }
  }
}

TEST(CompletenessTest, AllAfterAStepMissingButTheEndIsNotExact) {
  Scene scene = SceneFromStep4(1);
  scene.edit = [](AttemptEvidence&, AttemptEvidence& restart) {
    std::vector<LogRecord>& records = restart.logbooks.at(0).records;
    const auto at = std::find_if(records.begin(), records.end(),
                                 [](const LogRecord& r) { return IsState(r, "step", 4); });
    records.erase(at + 1, records.end() - 1);
  };
  EXPECT_EQ(scene.Judge().verdict, Verdict::kCannotJudge) << scene.Judge().why;
}

TEST(CompletenessTest, ADifferenceOutweighsAGap) {
  Scene scene = SceneFromStep4(1);
  scene.restart.loss = [](std::int64_t) { return 1.0F; };
  scene.edit = [](AttemptEvidence&, AttemptEvidence& restart) {
    Drop(restart, [](const LogRecord& r) { return IsState(r, "step"); });
  };
  EXPECT_EQ(scene.Judge().verdict, Verdict::kDiverged);
}

TEST(CompletenessTest, ATornLastLineIsRightOnlyAfterAKill) {
  Scene scene;
  scene.edit = [](AttemptEvidence& killed, AttemptEvidence&) {
    killed.logbooks.at(0).torn_tail = true;
  };
  EXPECT_EQ(scene.Judge().verdict, Verdict::kExact);
  scene.edit = [](AttemptEvidence&, AttemptEvidence& restart) {
    restart.logbooks.at(0).torn_tail = true;
  };
  EXPECT_EQ(scene.Judge().verdict, Verdict::kCannotJudge);
}

TEST(CompletenessTest, AKillMayFallBetweenAnyTwoRecords) {
  const std::size_t count = MakeRun(Scene().killed).logbooks.at(0).records.size();
  for (std::size_t kept = 1; kept < count; ++kept) {
    Scene scene;
    scene.edit = [kept](AttemptEvidence& killed, AttemptEvidence&) {
      killed.logbooks.at(0).records.resize(kept);
    };
    const Outcome outcome = scene.Judge();
    EXPECT_EQ(outcome.verdict, Verdict::kExact) << kept << ": " << outcome.why;
  }
}

TEST(CompletenessTest, AGapInTheKilledAttemptCannotBeJudged) {
  for (const char* reading : {"step", "request", "ready"}) {
    Scene scene;
    scene.edit = [reading](AttemptEvidence& killed, AttemptEvidence&) {
      Drop(killed, [&](const LogRecord& r) { return IsState(r, reading); });
    };
    const Outcome outcome = scene.Judge();
    EXPECT_EQ(outcome.verdict, Verdict::kCannotJudge) << reading;
    EXPECT_THAT(outcome.why, HasSubstr("the first attempt recorded no state"));
  }
}

TEST(CompletenessTest, AReadingOfSeveralRecordsMayBeCutByAKillButNotByAnEnd) {
  const auto cut = [](AttemptEvidence& attempt, std::int64_t step) {
    std::vector<LogRecord>& records = attempt.logbooks.at(0).records;
    const auto at = std::find_if(records.begin(), records.end(),
                                 [&](const LogRecord& r) { return IsState(r, "step", step - 1); });
    std::get<StateRecord>(*at).tensors.erase(5);
    return at;
  };
  Scene scene;
  scene.edit = [&](AttemptEvidence& killed, AttemptEvidence&) {
    killed.logbooks.at(0).records.erase(cut(killed, 9) + 1, killed.logbooks.at(0).records.end());
  };
  EXPECT_EQ(scene.Judge().verdict, Verdict::kExact) << scene.Judge().why;
  scene.edit = [&](AttemptEvidence& killed, AttemptEvidence&) { cut(killed, 6); };
  EXPECT_EQ(scene.Judge().verdict, Verdict::kCannotJudge);
  scene.edit = [&](AttemptEvidence&, AttemptEvidence& restart) { cut(restart, 10); };
  EXPECT_EQ(scene.Judge().verdict, Verdict::kDiverged);
}

// Moves the acknowledgement of step 4 behind the record of step `after`, or drops it.
void Delay(AttemptEvidence& attempt, std::int64_t after) {
  std::vector<LogRecord>& records = attempt.logbooks.at(0).records;
  Drop(attempt, [](const LogRecord& r) {
    const auto* ack = std::get_if<SaveAckRecord>(&r);
    return ack != nullptr && ack->step == 4;
  });
  const auto at = std::find_if(records.begin(), records.end(), [&](const LogRecord& r) {
    const auto* step = std::get_if<StepRecord>(&r);
    return step != nullptr && step->step == after;
  });
  if (at != records.end()) {
    records.insert(at + 1, SaveAckRecord{4});
  }
}

TEST(CompletenessTest, AnAcknowledgementInTheBackgroundMayComeLater) {
  const Case the_case;
  AttemptEvidence reference = MakeRun({});
  AttemptEvidence killed = MakeRun(Scene().killed);
  Delay(killed, 99);
  CompletenessSpec spec{&reference, &killed, 0, true, true, false};
  EXPECT_TRUE(FirstMissing(spec).has_value());
  spec.is_async = true;
  EXPECT_EQ(FirstMissing(spec), std::nullopt);
  spec.is_async = false;
  Delay(reference, 6);
  EXPECT_EQ(FirstMissing(spec), std::nullopt);
}

TEST(CompletenessTest, AnExtraScalarOrTensorIsADifference) {
  Scene scene;
  scene.edit = [](AttemptEvidence&, AttemptEvidence& restart) {
    for (LogRecord& record : restart.logbooks.at(0).records) {
      if (IsState(record, "ready")) {
        std::get<StateRecord>(record).scalars["counters.extra"] = "1";
      }
    }
  };
  EXPECT_EQ(scene.Judge().verdict, Verdict::kDiverged);
  EXPECT_EQ(scene.Judge().divergence->name, "counters.extra");
  EXPECT_EQ(scene.Judge().divergence->expected, "absent");
  scene.edit = {};
  scene.reference.bits_of = [](const std::string& key, std::int64_t, const Place& place) {
    return key == "ema/embed" ? std::nullopt : std::optional(place.step);
  };
  scene.killed.bits_of = scene.reference.bits_of;
  EXPECT_EQ(scene.Judge().verdict, Verdict::kDiverged);
  EXPECT_EQ(scene.Judge().divergence->name, "ema/embed");
}

TEST(CompletenessTest, ACheckpointThatTheFolderDidNotHoldCannotHaveBeenLoaded) {
  Scene scene;
  scene.restart.checkpoint = "step-9";
  EXPECT_EQ(scene.Judge().verdict, Verdict::kCannotJudge);
  EXPECT_THAT(scene.Judge().why, HasSubstr("\"step-9\""));
  scene.format_known = false;
  EXPECT_EQ(scene.Judge().verdict, Verdict::kExact);
}

}  // namespace
}  // namespace reprise
