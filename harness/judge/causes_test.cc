#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>

#include "harness/judge/causes/cause_rule.h"
#include "harness/judge/testing.h"

namespace reprise {
namespace {

using testing::AddOperation;
using testing::EndWith;
using testing::FinishedScene;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::kSteps;
using testing::MakeStored;
using testing::Place;
using testing::RightIds;
using testing::RunSpec;
using testing::Scene;

bool Starts(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

// Tensors with this prefix have the bits of `step` (nothing: absent) in the readings that fit.
void SetBits(RunSpec& spec, const char* prefix, std::optional<std::int64_t> step,
             const char* reading = "") {
  spec.bits_of = [=](const std::string& key, std::int64_t, const Place& place) {
    const bool fits = Starts(key, prefix) && Starts(place.reading, reading) && place.step == 8;
    return fits ? step : std::optional(place.step);
  };
}

void SetScalar(RunSpec& spec, const char* name, const char* value) {
  spec.scalar = [=](const std::string& asked, const Place& place) {
    return asked == name ? value : std::to_string(place.step);
  };
}

void EraseFromFile(Scene& scene, const char* prefix) {
  std::erase_if(scene.stored[0].tensors,
                [&](const auto& item) { return Starts(item.first, prefix); });
}

Operation MakeOperation(OperationKind kind, const char* path, const char* second = "") {
  Operation operation;
  operation.kind = kind;
  operation.path = path;
  operation.second_path = second;
  return operation;
}

struct Planted {
  std::string cause;
  std::function<void(Scene&)> plant;
};

void PlantDestroyed(Scene& scene) {
  scene.stored = {};
  scene.restart.restores = false;
  scene.edit = [](AttemptEvidence& killed, AttemptEvidence& restart) {
    Operation open = MakeOperation(OperationKind::kOpen, "model.bin");
    open.creates = true;
    open.truncates = true;
    AddOperation(killed, 8, open);
    open.creates = false;
    AddOperation(killed, -1, open);
    restart.logbooks.at(0).records.resize(2);
    EndWith(restart, RankEnd::kExited, 1, "unexpected end of file");
  };
}

void PlantPublished(Scene& scene) {
  scene.killed.to = 8;
  scene.killed.acknowledged = {4};
  scene.stored[0].error = "rank-1.safetensors: no such file";
  scene.stored[0].missing_files = {"step-8/rank-1.safetensors"};
  scene.restart.restores = false;
  scene.edit = [](AttemptEvidence& killed, AttemptEvidence& restart) {
    AddOperation(killed, -1, MakeOperation(OperationKind::kRename, "tmp-8", "step-8"));
    restart.logbooks.at(0).records.resize(2);
    EndWith(restart, RankEnd::kExited, 1, "no such file");
  };
}

std::vector<Planted> PlantedInFilesAndData() {
  return {
      {"checkpoint: last good one destroyed", PlantDestroyed},
      {"checkpoint: published before all ranks wrote", PlantPublished},
      {"data.order: epoch of the sampler not restored",
       [](Scene& scene) {
         scene.restart.batch_of = [](std::int64_t step) { return (step - 1) % 5 + 1; };
       }},
      {"data.position: not restored (restart)",
       [](Scene& scene) { scene.restart.batch_of = [](std::int64_t step) { return step - 8; }; }},
      {"data.position: not restored (restart of the epoch)",
       [](Scene& scene) { scene.restart.batch_of = [](std::int64_t step) { return step - 3; }; }},
      {"data.position: off by one (replay)",
       [](Scene& scene) { scene.restart.batch_of = [](std::int64_t step) { return step - 1; }; }},
      {"data.position: off by one (skip)",
       [](Scene& scene) {
         scene.restart.to = 11;
         scene.restart.batch_of = [](std::int64_t step) { return step + 1; };
       }},
      {"data.position: applied twice",
       [](Scene& scene) {
         scene.restart.from = 4;
         scene.killed.to = 5;
         scene.killed.acknowledged = {4};
         scene.stored = {MakeStored(4)};
         scene.restart.checkpoint = "step-4";
         scene.restart.to = 8;
         scene.restart.batch_of = [](std::int64_t step) { return step + 4; };
       }},
      {"data.position: ahead (items skipped)",
       [](Scene& scene) {
         scene.restart.ids = [](std::int64_t step, std::int64_t worker) {
           const std::int64_t place = (step - 1) * 2 + worker + 3;  // three samples ahead
           return RightIds(place / 2 + 1, place % 2);
         };
         scene.restart.to = 10;
       }},
      {"data.position: behind (items repeated)",
       [](Scene& scene) { scene.restart.batch_of = [](std::int64_t step) { return step - 2; }; }},
      {"epoch: finished epoch repeated",
       [](Scene& scene) {
         scene.reference.begun = scene.reference.acknowledged = {10};
         scene.killed.begun = scene.killed.acknowledged = {10};
         scene.killed.to = 11;
         scene.restart.from = 10;
         scene.restart.checkpoint = "step-10";
         scene.stored = {MakeStored(10)};
         scene.restart.batch_of = [](std::int64_t step) { return step - 5; };
       }},
  };
}

std::vector<Planted> PlantedInOptimizer() {
  return {
      {"ema: not restored", [](Scene& scene) { SetBits(scene.restart, "ema/", 0); }},
      {"ema: counter", [](Scene& scene) { SetScalar(scene.restart, "ema.updates", "0"); }},
      {"fallback: silent restart from scratch", [](Scene& scene) { scene.restart.from = 0; }},
      {"optimizer.moments: missing in checkpoint",
       [](Scene& scene) {
         EraseFromFile(scene, "exp_avg/");
         SetBits(scene.restart, "exp_avg/", std::nullopt);
       }},
      {"optimizer.moments: in file, never applied",
       [](Scene& scene) { SetBits(scene.restart, "exp_avg/", -1); }},
      {"optimizer.moments: overwritten after load",
       [](Scene& scene) { SetBits(scene.restart, "exp_avg/", -1, "ready"); }},
      {"optimizer.moments: not restored",
       [](Scene& scene) {
         scene.format_known = false;
         SetBits(scene.restart, "exp_avg/", -1);
       }},
      {"optimizer.moments: attached to other parameters",
       [](Scene& scene) {
         scene.restart.source = [](const std::string& key, const Place& place) -> std::string {
           if (place.step != 8 || !Starts(key, "exp_avg/")) {
             return key;
           }
           return key == "exp_avg/mlp" ? "exp_avg/embed" : "exp_avg/mlp";
         };
       }},
      {"optimizer.step: reset",
       [](Scene& scene) { SetScalar(scene.restart, "optimizer.step", "0"); }},
  };
}

std::vector<Planted> PlantedInSchedule() {
  return {
      {"rng.torch: not restored", [](Scene& scene) { SetBits(scene.restart, "rng/", 0); }},
      {"rng: changed between load and first forward",
       [](Scene& scene) { SetBits(scene.restart, "rng/", 3, "ready"); }},
      {"rng: rank-local stream replaced by rank 0's",
       [](Scene& scene) {
         scene.restart.source = [](const std::string& key, const Place&) {
           return key == "rng/worker-1" ? "rng/worker-0" : key;
         };
       }},
      {"scheduler: not restored",
       [](Scene& scene) {
         scene.restart.rate = [](std::int64_t step) {
           return 0.001 * static_cast<double>(step - 8);
         };
       }},
      {"scheduler: shifted",
       [](Scene& scene) {
         scene.restart.rate = [](std::int64_t step) {
           return 0.001 * static_cast<double>(step - 1);
         };
       }},
      {"scheduler: wrong for one step after load",
       [](Scene& scene) {
         scene.restart.rate = [](std::int64_t step) {
           return step == 9 ? 0.5 : 0.001 * static_cast<double>(step);
         };
       }},
      {"finish: trained on after the last step",
       [](Scene& scene) {
         scene = FinishedScene();
         scene.restart.to = kSteps + 1;
       }},
      {"finish: newest checkpoint changed",
       [](Scene& scene) {
         scene = FinishedScene();
         scene.stored_at_end[0].scalars["step"] = "9";
       }},
      {"selection: order",
       [](Scene& scene) {
         scene.restart.from = 4;
         scene.restart.checkpoint = "step-4";
       }},
  };
}

std::vector<Planted> PlantedInState() {
  return {
      {"shards: stale shard",
       [](Scene& scene) {
         scene.reference.world = scene.killed.world = 2;
         scene.restart.bits_of = [](const std::string& key, std::int64_t row, const Place& place) {
           const bool is_stale = Starts(key, "exp_avg/") && row >= 3 && place.step == 8;
           return std::optional(is_stale ? std::int64_t{4} : place.step);
         };
       }},
      {"shards: mixed steps", [](Scene& scene) { SetBits(scene.restart, "weight/embed", 4); }},
      {"step_counter: off by one", [](Scene& scene) { SetBits(scene.restart, "", 7); }},
      {"step_counter: changed between load and first forward",
       [](Scene& scene) {
         scene.edit = [](AttemptEvidence&, AttemptEvidence& restart) {
           for (LogRecord& record : restart.logbooks.at(0).records) {
             auto* state = std::get_if<StateRecord>(&record);
             if (state != nullptr && state->reading == "ready") {
               state->step = 9;
             }
           }
         };
       }},
      {"step_counter: of another step than the state",
       [](Scene& scene) { SetBits(scene.restart, "", 4); }},
      {"weights: tie lost", [](Scene& scene) { scene.restart.tied = false; }},
      {"weights: missing in checkpoint",
       [](Scene& scene) {
         EraseFromFile(scene, "weight/");
         SetBits(scene.restart, "weight/", 0);
       }},
      {"weights: not restored", [](Scene& scene) { SetBits(scene.restart, "weight/", 0); }},
      {"weights: overwritten after load",
       [](Scene& scene) { SetBits(scene.restart, "weight/", 0, "ready"); }},
      {"weights: replicas differ after load",
       [](Scene& scene) {
         scene.restart.world = 2;
         scene.restart.bits_of = [](const std::string& key, std::int64_t, const Place& place) {
           const bool is_other = key == "weight/embed" && place.rank == 1 && place.step == 8;
           return std::optional(is_other ? std::int64_t{0} : place.step);
         };
       }},
  };
}

std::vector<Planted> AllPlanted() {
  std::vector<Planted> all = PlantedInFilesAndData();
  for (const auto& more : {PlantedInOptimizer(), PlantedInSchedule(), PlantedInState()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

TEST(CausesTest, EveryPlantedFaultIsNamed) {
  for (const Planted& planted : AllPlanted()) {
    Scene scene;
    planted.plant(scene);
    const Outcome outcome = scene.Judge();
    EXPECT_EQ(outcome.cause, planted.cause)
        << ToText(outcome.verdict) << ": " << outcome.why << "\n"
        << outcome.evidence;
    EXPECT_TRUE(IsFinding(outcome.verdict)) << planted.cause << ": " << outcome.why;
    EXPECT_FALSE(outcome.evidence.empty()) << planted.cause;
  }
}

TEST(CausesTest, ARightRestartHasNoCause) {
  for (const int world : {1, 2, 3}) {
    Scene scene;
    scene.restart.world = world;
    EXPECT_THAT(scene.Judge().cause, IsEmpty());
  }
}

TEST(CausesTest, WhereNoRuleIsCertainTheCauseIsEmpty) {
  Scene scene;
  scene.restart.loss = [](std::int64_t) { return 1.0F; };
  EXPECT_EQ(scene.Judge().verdict, Verdict::kDiverged);
  EXPECT_THAT(scene.Judge().cause, IsEmpty());
}

TEST(CausesTest, SamplesOfNoPlaceInTheReferenceHaveNoCause) {
  Scene scene;
  scene.restart.ids = [](std::int64_t step, std::int64_t worker) {
    return std::vector<std::int64_t>{1000 + step * 2 + worker};
  };
  const Outcome outcome = scene.Judge();
  EXPECT_EQ(outcome.divergence->name, "sample ids");
  EXPECT_THAT(outcome.cause, IsEmpty());
}

TEST(CausesTest, AStaleShardIsFoundAtAnyWorldSizeOfTheRestart) {
  for (const int world : {1, 2, 3, 4}) {
    Scene scene;
    scene.reference.world = scene.killed.world = 3;
    scene.restart.world = world;
    scene.restart.bits_of = [](const std::string& key, std::int64_t row, const Place& place) {
      const bool is_stale = key == "ema/embed" && row >= 4 && place.step == 8;
      return std::optional(is_stale ? std::int64_t{4} : place.step);
    };
    const Outcome outcome = scene.Judge();
    EXPECT_EQ(outcome.cause, "shards: stale shard") << outcome.evidence;
    EXPECT_THAT(outcome.evidence, HasSubstr("rank 2 [4:6]"));
    EXPECT_THAT(outcome.evidence, HasSubstr("step 4"));
  }
}

TEST(CausesTest, RetentionAfterTheNextAcknowledgementDestroysNothing) {
  Scene scene;
  PlantDestroyed(scene);
  const auto plant = scene.edit;
  scene.edit = [plant](AttemptEvidence& killed, AttemptEvidence& restart) {
    plant(killed, restart);
    std::erase_if(killed.result.events, [](const AttemptEvent& event) {
      return std::holds_alternative<OperationEvent>(event);
    });
    Operation old = MakeOperation(OperationKind::kOpen, "step-4/model.bin");
    old.creates = true;
    AddOperation(killed, 4, old);
    AddOperation(killed, -1, MakeOperation(OperationKind::kUnlink, "step-4/model.bin"));
  };
  EXPECT_EQ(scene.Judge().verdict, Verdict::kCheckpointLost);
  EXPECT_THAT(scene.Judge().cause, IsEmpty());
}

TEST(CausesTest, AFileThatWasRemovedLaterWasNotPublishedTooEarly) {
  Scene scene;
  PlantPublished(scene);
  const auto plant = scene.edit;
  scene.edit = [plant](AttemptEvidence& killed, AttemptEvidence& restart) {
    plant(killed, restart);
    AddOperation(killed, -1, MakeOperation(OperationKind::kUnlink, "step-8/rank-1.safetensors"));
  };
  EXPECT_THAT(scene.Judge().cause, IsEmpty());
}

std::set<std::string> PrintableCauses() {
  std::set<std::string> causes;
  for (const CauseRule& rule : AllCauseRules()) {
    causes.insert(rule.causes.begin(), rule.causes.end());
  }
  return causes;
}

std::set<std::string> DocumentedCauses() {
  std::set<std::string> causes;
  std::ifstream page(REPRISE_CAUSES_PAGE);
  for (std::string line; std::getline(page, line);) {
    if (line.rfind("### `", 0) == 0 && line.back() == '`') {
      causes.insert(line.substr(5, line.size() - 6));
    }
  }
  return causes;
}

TEST(CausesTest, EveryCauseHasASectionAndEverySectionACause) {
  EXPECT_EQ(PrintableCauses(), DocumentedCauses());
}

TEST(CausesTest, EveryCauseButThoseOfOtherLibrariesIsPlantedHere) {
  std::set<std::string> planted = {"rng.python: not restored", "rng.numpy: not restored",
                                   "rng.cuda: not restored", "rng: not restored",
                                   "buffers: not restored"};  // as rng.torch and weights
  for (const Planted& item : AllPlanted()) {
    planted.insert(item.cause);
  }
  EXPECT_EQ(PrintableCauses(), planted);
}

}  // namespace
}  // namespace reprise
