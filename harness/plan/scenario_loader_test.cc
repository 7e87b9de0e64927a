#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "harness/base/files.h"
#include "harness/plan/plan.h"

namespace reprise {
namespace {

using testing::HasSubstr;

class ScenarioLoaderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "scenario-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { EXPECT_TRUE(RemoveTree(folder_)); }

  Result<Scenario> Load(const std::string& text) const {
    const auto path = folder_ / "s.json";
    EXPECT_TRUE(WriteFileAtomically(path, text));
    return LoadScenario(path);
  }

  // A scenario with one target and one case.
  static std::string With(const std::string& entry, const std::string& more_target = "") {
    return R"({"schema": "reprise.scenario/1", "name": "s",
               "targets": [{"id": "t", "command": ["train"], "steps": 12)" +
           more_target + R"(}], "cases": [)" + entry + "]}";
  }
  static std::string WithFault(const std::string& fault) {
    return With(R"({"world": [[2, 1]], "faults": [)" + fault + "]}");
  }

  // `where` after the folder, and a part of the message.
  void ExpectRefused(const std::string& text, const std::string& where,
                     const std::string& message) const {
    const auto scenario = Load(text);
    ASSERT_FALSE(scenario) << text;
    EXPECT_EQ(scenario.error().code, ErrorCode::kInvalidInput);
    EXPECT_EQ(scenario.error().where, (folder_ / where).string());
    EXPECT_THAT(scenario.error().message, HasSubstr(message));
  }

  std::filesystem::path folder_;
};

TEST_F(ScenarioLoaderTest, ReadsEveryField) {
  const auto scenario = Load(R"({
    "schema": "reprise.scenario/1", "name": "full", "description": "all fields",
    "targets": [
      {"id": "a", "command": ["train", "--ckpt", "{ckpt}"], "format": "sharded-safetensors",
       "steps": 12, "seed": 3, "fork_server": true, "world_invariant": true,
       "environment": {"X": "1"}},
      {"id": "b", "command": ["other"], "steps": 4}],
    "cases": [
      {"target": "a", "world": {"pairs": [1, 2]},
       "faults": [{"kind": "kill.step", "step": [3, "4"], "when": "micro:1"},
                  {"kind": "damage.flip", "region": "all", "draw": 2}],
       "expect": {"verdict": ["exact-fallback", "refused"], "cause": "c", "layer": "D1",
                  "step": 4, "name": "n"}},
      {"target": "b", "world": [[1, 1, 1]],
       "faults": [{"kind": "kill.record", "rank": 0, "record": {"random": 3}},
                  {"kind": "kill.step", "step": 3, "attempt": 1}]}]})");
  ASSERT_TRUE(scenario) << scenario.error().ToString();
  EXPECT_EQ(scenario->name, "full");
  EXPECT_EQ(scenario->description, "all fields");
  const Target& a = scenario->targets.at(0);
  EXPECT_EQ(a.command.size(), 3U);
  EXPECT_EQ(a.format, "sharded-safetensors");
  EXPECT_EQ(a.steps, 12);
  EXPECT_EQ(a.seed, 3);
  EXPECT_TRUE(a.fork_server && a.world_invariant);
  EXPECT_EQ(a.environment.at("X"), "1");
  const CaseTemplate& first = scenario->cases.at(0);
  EXPECT_EQ(first.worlds, (std::vector<std::vector<int>>{{1, 2}, {2, 1}}));
  EXPECT_EQ(first.faults[0].values.at("step"), (std::vector<std::string>{"3", "4"}));
  EXPECT_TRUE(first.faults[1].values.at("region").empty());
  EXPECT_EQ(first.expect->verdicts,
            (std::vector<Verdict>{Verdict::kExactFallback, Verdict::kRefused}));
  EXPECT_EQ(first.expect->layer, Layer::kD1);
  EXPECT_EQ(first.expect->step, 4);
  EXPECT_EQ(first.expect->cause + first.expect->name, "cn");
  const CaseTemplate& second = scenario->cases.at(1);
  EXPECT_EQ(second.faults[0].random_counts.at("record"), 3);
  EXPECT_EQ(second.faults[1].attempt, 1);
  EXPECT_FALSE(second.expect);
}

TEST_F(ScenarioLoaderTest, PairsOfSameSizeAreTakenOnRequest) {
  const auto pairs = [this](const std::string& world) {
    return Load(
               With(R"({"world": )" + world + R"(, "faults": [{"kind": "kill.step", "step": 1}]})"))
        ->cases[0]
        .worlds.size();
  };
  EXPECT_EQ(pairs(R"({"pairs": [1, 2, 3, 4]})"), 12U);
  EXPECT_EQ(pairs(R"({"pairs": [1, 2, 3, 4], "same": true})"), 16U);
}

TEST_F(ScenarioLoaderTest, NamesTheFieldOfAWrongFile) {
  const auto absent = LoadScenario(folder_ / "absent.json");
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ErrorCode::kNotFound);
  ExpectRefused("{", "s.json", "line 1");
  ExpectRefused("[]", "s.json", "expected an object");
  ExpectRefused("{}", "s.json: schema", "required");
  ExpectRefused(R"({"schema": "reprise.scenario/2"})", "s.json: schema",
                "expected \"reprise.scenario/1\"");
  ExpectRefused(R"({"schema": "reprise.scenario/1", "name": "a b"})", "s.json: name",
                "letters, digits");
  ExpectRefused(
      R"({"schema": "reprise.scenario/1", "name": "s", "targets": [], "cases": [], "case": 1})",
      "s.json: targets", "at least one");
}

TEST_F(ScenarioLoaderTest, NamesTheFieldOfAWrongTarget) {
  const std::string entry = R"({"world": [[1]], "faults": []})";
  ExpectRefused(With(entry, R"(, "stepz": 1)"), "s.json: targets[0].stepz",
                "did you mean \"steps\"?");
  ExpectRefused(With(entry, R"(, "fork_server": 1)"), "s.json: targets[0].fork_server",
                "expected true or false, found the integer 1");
  ExpectRefused(With(entry, R"(, "format": "sharded-safetensor")"), "s.json: targets[0].format",
                "did you mean \"sharded-safetensors\"?");
  ExpectRefused(With(entry, R"(, "environment": {"A=B": "1"})"),
                "s.json: targets[0].environment.A=B", "without '='");
  ExpectRefused(R"({"schema": "reprise.scenario/1", "name": "s",
                    "targets": [{"id": "t", "command": [], "steps": 1}], "cases": [{}]})",
                "s.json: targets[0].command", "found no program");
  ExpectRefused(R"({"schema": "reprise.scenario/1", "name": "s",
                    "targets": [{"id": "t", "command": ["x", "{checkpoint}"], "steps": 1}],
                    "cases": [{}]})",
                "s.json: targets[0].command", "unknown placeholder {checkpoint}");
  ExpectRefused(R"({"schema": "reprise.scenario/1", "name": "s",
                    "targets": [{"id": "t", "command": ["x"], "steps": 1},
                                {"id": "t", "command": ["y"], "steps": 1}],
                    "cases": [{"target": "t", "world": [[1]], "faults": []}]})",
                "s.json: targets[1].id", "a second target \"t\"");
}

TEST_F(ScenarioLoaderTest, NamesTheFieldOfAWrongCase) {
  ExpectRefused(With(R"({"target": "u", "world": [[1]], "faults": []})"), "s.json: cases[0].target",
                "unknown target \"u\"");
  ExpectRefused(With(R"({"faults": []})"), "s.json: cases[0].world", "[[1, 2], [2, 1]]");
  ExpectRefused(With(R"({"world": [[1, 0]], "faults": []})"), "s.json: cases[0].world[0][1]",
                "from 1 to 64, found the integer 0");
  ExpectRefused(With(R"({"world": {"pairs": [1]}, "faults": []})"), "s.json: cases[0].world.pairs",
                "two or more");
  ExpectRefused(With(R"({"world": [[1]]})"), "s.json: cases[0].faults", "required");
  ExpectRefused(With(R"({"world": [[1]], "faults": [], "expects": {}})"),
                "s.json: cases[0].expects", "did you mean \"expect\"?");
  ExpectRefused(With(R"({"world": [[1, 2, 1]], "faults": []})"), "s.json: cases[0].world",
                "expected one or two world sizes, found [1, 2, 1]");
  ExpectRefused(With(R"({"world": [[1], [2]], "faults": []})"), "s.json: cases[0].world",
                "world_invariant");
  ExpectRefused(With(R"({"world": [[1]], "faults": [], "expect": {"verdict": "exakt"}})"),
                "s.json: cases[0].expect.verdict", "did you mean \"exact\"?");
  ExpectRefused(With(R"({"world": [[1]], "faults": [], "expect": {"layer": "D9"}})"),
                "s.json: cases[0].expect.layer", "D0 to D6");
}

TEST_F(ScenarioLoaderTest, NamesTheFieldOfAWrongFault) {
  const std::string at = "s.json: cases[0].faults[0]";
  ExpectRefused(WithFault(R"({"kind": "kill.stepp"})"), at + ".kind",
                "did you mean \"kill.step\"?");
  ExpectRefused(WithFault(R"({"kind": "kill.step"})"), at + ".step", "required");
  ExpectRefused(WithFault(R"({"kind": "kill.step", "step": 1, "wen": "after"})"), at + ".wen",
                "did you mean \"when\"?");
  ExpectRefused(WithFault(R"({"kind": "kill.step", "step": [1, -1]})"), at + ".step[1]",
                "expected an integer from 0");
  ExpectRefused(WithFault(R"({"kind": "kill.step", "step": true})"), at + ".step",
                "\"all\" or {\"random\": N}");
  ExpectRefused(WithFault(R"({"kind": "kill.step", "step": []})"), at + ".step", "at least one");
  ExpectRefused(WithFault(R"({"kind": "kill.step", "step": {"randon": 1}})"), at + ".step.randon",
                "did you mean \"random\"");
  ExpectRefused(WithFault(R"({"kind": "kill.step", "step": 1, "when": "later"})"), at + ".when",
                "after, before-optimizer, micro:N");
  ExpectRefused(WithFault(R"({"kind": "damage.flip", "draw": "all"})"), at + ".draw",
                "no finite set");
  ExpectRefused(WithFault(R"({"kind": "kill.operation", "operation": "0/1"})"), at + ".operation",
                "rank/save/n");
}

TEST_F(ScenarioLoaderTest, RefusesWhatCannotHappen) {
  const std::string at = "s.json: cases[0].faults[0]";
  ExpectRefused(WithFault(R"({"kind": "kill.step", "step": 13})"), at + ".step",
                "step 13 is beyond the target's last step; expected 0 to 12");
  ExpectRefused(WithFault(R"({"kind": "kill.step", "step": 1, "victim": "rank:2"})"),
                at + ".victim", "rank 2 does not exist at world size 2; expected 0 to 1");
  ExpectRefused(WithFault(R"({"kind": "kill.step", "step": 1, "watch": 5})"), at + ".watch",
                "rank 5 does not exist at world size 2");
  ExpectRefused(WithFault(R"({"kind": "kill.operation", "operation": "2/0/0"})"), at + ".operation",
                "rank 2 does not exist at world size 2");
  ExpectRefused(With(R"({"world": [[2, 1]], "faults": [{"kind": "damage.drop", "rank": 3}]})",
                     R"(, "format": "sharded-safetensors")"),
                at + ".rank", "rank 3 does not exist at world size 2");
  ExpectRefused(WithFault(R"({"kind": "damage.drop"})"), at, "names none; expected a \"format\"");
  ExpectRefused(WithFault(R"({"kind": "kill.step", "step": [1, 0], "when": "micro:0"})"),
                at + ".step", "updates are counted from 1");
  ExpectRefused(WithFault(R"({"kind": "kill.step", "step": 1, "attempt": 1})"), at,
                "needs a restart after it");
  ExpectRefused(WithFault(R"({"kind": "kill.step", "step": 1}, {"kind": "kill.step", "step": 2})"),
                "s.json: cases[0].faults[1]", "a second kill in attempt 0");
  ExpectRefused(With(R"({"world": [[1, 1, 1]], "faults": [
                         {"kind": "kill.step", "step": "all", "attempt": 1}]})"),
                at, "list the values");
}

// What a file asks for is bounded before anything is expanded: hours would look like a hang.
TEST_F(ScenarioLoaderTest, TooMuchIsRefusedWhereItStands) {
  const auto repeat = [](const std::string& text, int count) {
    std::string list = text;
    for (int i = 1; i < count; ++i) {
      list += "," + text;
    }
    return list;
  };
  const std::string kill = R"({"kind": "kill.step", "step": "all"})";
  const std::string flip = R"({"kind": "damage.flip", "draw": [)" + repeat("0", 10) + "]}";
  const std::string entry = R"({"world": [[1, 1]], "faults": []})";
  ExpectRefused(With(R"({"world": [)" + repeat("[1, 1]", 1001) + R"(], "faults": []})"),
                "s.json: cases[0].world", "at most 1000");
  ExpectRefused(With(R"({"world": [[1, 1]], "faults": [)" + repeat(flip, 33) + "]}"),
                "s.json: cases[0].faults", "at most 32");
  ExpectRefused(With(repeat(entry, 10'001)), "s.json: cases", "at most 10000");
  ExpectRefused(With(R"({"world": [)" + repeat("[1, 1]", 1000) + R"(], "faults": [)" + kill + "," +
                         flip + "]}",
                     R"(, "format": "sharded-safetensors")"),
                "s.json: cases[0]", "more than 100000 cases");
  ExpectRefused(With(entry, R"(, ")" + std::string(1 << 20, 'x') + R"(": 1)"),
                "s.json: targets[0]." + std::string(200, 'x') + "… (1048576 bytes)", "unknown");
}

}  // namespace
}  // namespace reprise
