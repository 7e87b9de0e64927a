// Judging one case of 600 tensors on 4 ranks, its logbooks parsed, and what a further case costs
// the harness in memory.
//
// A case of 8 steps: a life of 4 steps that saves and is killed, a restart from step 4 that does 4
// more; each step is read on each rank. The reference is parsed once for all cases of a run, as in
// a campaign, and not counted.

#include <fmt/format.h>
#include <malloc.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "benchmarks/figure.h"
#include "harness/base/check.h"
#include "harness/base/files.h"
#include "harness/judge/judge.h"
#include "harness/plan/plan.h"
#include "harness/record/logbook_reader.h"

namespace reprise::bench {
namespace {

constexpr int kTensors = 600;
constexpr int kRanks = 4;
constexpr int kSavedStep = 4;
constexpr int kSteps = 8;
constexpr int kTurns = 15;

// One rank's shard of every tensor.
std::string NamesLine(int rank) {
  std::string tensors;
  for (int i = 0; i < kTensors; ++i) {
    tensors += fmt::format(
        R"({}{{"component":"weights","kind":"weight","path":"blocks.{}.weight","dtype":"F32",)"
        R"("shape":[4096],"offsets":[{}],"extents":[1024],"replica":[0,1]}})",
        i == 0 ? "" : ",", i, rank * 1024);
  }
  return fmt::format("{{\"t\":\"names\",\"tensors\":[{}]}}\n", tensors);
}

std::string StateLine(const char* reading, int step, int rank) {
  std::string sums;
  for (std::uint64_t i = 0; i < kTensors; ++i) {
    const std::uint64_t lane = (i + 1) * 0x9E3779B97F4A7C15ULL + static_cast<std::uint64_t>(step);
    sums += fmt::format(R"({}[{},"{:016x}","{:016x}"])", i == 0 ? "" : ",", i, lane,
                        lane * static_cast<std::uint64_t>(rank + 3));
  }
  return fmt::format(R"({{"t":"state","reading":"{}","step":{},"tensors":[{}],)"
                     R"("scalars":{{"data.position":"{}"}}}})"
                     "\n",
                     reading, step, sums, step);
}

std::string StepLines(int step, int rank) {
  return fmt::format(
             R"({{"t":"micro","step":{0},"micro":0,"worker":{1},"ids":[{0},{1}],"content":"{0:032x}"}})"
             "\n"
             R"({{"t":"step","step":{0},"loss":"f32:40200000","learning_rate":["f64:3f50624dd2f1a9fc"],"weight_decay":["f64:0000000000000000"]}})"
             "\n",
             step, rank) +
         StateLine("step", step, rank);
}

// A life from `first` to `last`; the end is missing when it was killed.
std::string LogbookText(int rank, int attempt, int first, int last, bool is_killed) {
  std::string text = fmt::format(
      R"({{"t":"start","schema":"reprise.logbook/1","rank":{},"world":{},"attempt":{},"environment":{{}}}})"
      "\n",
      rank, kRanks, attempt);
  text += fmt::format(R"({{"t":"restored","step":{},"checkpoint":"{}","refused":[]}})"
                      "\n",
                      first, first == 0 ? "" : "step-00000004");
  text += NamesLine(rank) + StateLine("ready", first, rank);
  text += fmt::format("{{\"t\":\"ready\",\"step\":{}}}\n", first);
  for (int step = first + 1; step <= last; ++step) {
    text += StepLines(step, rank);
    if (step % kSavedStep == 0) {
      text += fmt::format(
          "{{\"t\":\"save_begin\",\"step\":{0}}}\n{{\"t\":\"save_ack\",\"step\":{0}}}\n", step);
    }
  }
  return is_killed ? text : text + fmt::format("{{\"t\":\"end\",\"step\":{}}}\n", last);
}

Status WriteLife(const std::filesystem::path& folder, int attempt, int first, int last,
                 bool is_killed) {
  REPRISE_RETURN_IF_ERROR(MakeFolders(folder));
  for (int rank = 0; rank < kRanks; ++rank) {
    REPRISE_RETURN_IF_ERROR(
        WriteFileAtomically(folder / fmt::format("rank-{}.jsonl", rank),
                            LogbookText(rank, attempt, first, last, is_killed)));
  }
  return {};
}

Result<AttemptEvidence> ReadLife(const std::filesystem::path& folder, bool is_killed) {
  AttemptEvidence evidence;
  evidence.world = kRanks;
  REPRISE_ASSIGN_OR_RETURN(evidence.logbooks, ReadLogbooks(folder));
  evidence.result.end = is_killed ? AttemptEnd::kFault : AttemptEnd::kAllExited;
  evidence.result.ranks.resize(kRanks);
  for (RankResult& rank : evidence.result.ranks) {
    rank.end = is_killed ? RankEnd::kKilledByFault : RankEnd::kExited;
  }
  return evidence;
}

struct Judged {
  Outcome outcome;
  double parsing_s = 0;
  double judging_s = 0;
};

Result<Judged> JudgeOnce(const std::filesystem::path& folder, const AttemptEvidence& reference) {
  Target target;
  target.world_invariant = true;
  Case the_case;
  the_case.world = {kRanks, kRanks};
  the_case.reference_world = kRanks;
  the_case.faults = {{.kind = "kill.step", .params = {{"step", "4"}}}};
  JudgeInput input;
  input.the_case = &the_case;
  input.target = &target;
  input.reference = &reference;
  Judged judged;
  Status trouble;
  judged.parsing_s = CpuSecondsOf([&] {
    for (const bool is_killed : {true, false}) {
      auto life = ReadLife(folder / (is_killed ? "killed" : "restart"), is_killed);
      if (!life) {
        trouble = tl::make_unexpected(life.error());
        return;
      }
      input.attempts.push_back(*std::move(life));
    }
  });
  REPRISE_RETURN_IF_ERROR(trouble);
  judged.judging_s = CpuSecondsOf([&] { judged.outcome = Judge(input); });
  return judged;
}

Result<Figure> MeasureJudging(const BenchContext& context) {
  REPRISE_ASSIGN_OR_RETURN(const auto folder, FreshFolder(context, "judge"));
  REPRISE_RETURN_IF_ERROR(WriteLife(folder / "reference", 0, 0, kSteps, false));
  REPRISE_RETURN_IF_ERROR(WriteLife(folder / "killed", 0, 0, kSavedStep, true));
  REPRISE_RETURN_IF_ERROR(WriteLife(folder / "restart", 1, kSavedStep, kSteps, false));
  REPRISE_ASSIGN_OR_RETURN(const AttemptEvidence reference, ReadLife(folder / "reference", false));
  std::vector<double> parsing;
  std::vector<double> whole;
  for (int turn = 0; turn < kTurns; ++turn) {
    REPRISE_ASSIGN_OR_RETURN(const Judged judged, JudgeOnce(folder, reference));
    if (judged.outcome.verdict != Verdict::kExact) {
      return Fail(ErrorCode::kSystem,
                  "the case of the measurement is not exact: " + judged.outcome.why, "case.judge");
    }
    parsing.push_back(judged.parsing_s * 1e3);
    whole.push_back((judged.parsing_s + judged.judging_s) * 1e3);
  }
  return Figure{
      .name = "case.judge",
      .unit = "ms",
      .goal = Goal::AtMost(20),
      .value = Median(whole),
      .note = fmt::format("CPU time; 600 tensors x 8 steps x 4 ranks; {:.1f} ms of it parsing",
                          Median(parsing))};
}

// A case as a campaign knows it, with the texts that a case has.
CaseReport SampleCase(int n) {
  CaseReport report;
  report.the_case.id = fmt::format("smoke_transformer_w2-1_kill.operation-{}", n);
  report.the_case.scenario = "smoke";
  report.the_case.target = "transformer";
  report.the_case.world = {2, 1};
  report.the_case.faults = {
      {.kind = "kill.operation",
       .params = {{"operation", fmt::format("1/0/{}", n)}, {"cut", "before"}, {"victim", "all"}}}};
  report.outcome.verdict = Verdict::kExact;
  report.met = true;
  report.fired = {"SIGKILL to all ranks before rank 1, save 0, operation 3 (rename)"};
  report.replay = "build/release/reprise replay --out reprise-out " + report.the_case.id;
  return report;
}

// Bytes of the heap that a campaign of `count` cases holds: the plan, what of it is still open, and
// the reports by id.
double BytesOfCases(int count) {
  const auto before = mallinfo2().uordblks;
  std::vector<PlannedCase> plan;
  std::map<std::string, CaseReport> reports;
  for (int n = 0; n < count; ++n) {
    CaseReport report = SampleCase(n);
    plan.push_back({.the_case = report.the_case, .expect = {}});
    reports.emplace(report.the_case.id, std::move(report));
  }
  plan.shrink_to_fit();
  const std::vector<PlannedCase> open = plan;
  REPRISE_CHECK(open.size() == reports.size(), fmt::format("{} of {}", reports.size(), count));
  return static_cast<double>(mallinfo2().uordblks) - static_cast<double>(before);
}

Figure MeasureMemory() {
  constexpr int kFew = 100;
  constexpr int kMany = 2'100;
  return Figure{.name = "case.memory",
                .unit = "bytes",
                .goal = Goal::AtMost(1024),
                .value = (BytesOfCases(kMany) - BytesOfCases(kFew)) / (kMany - kFew),
                .note = "heap of a campaign for each further case: plan, open cases, reports"};
}

Status Measure(const BenchContext& context, const std::function<void(Figure)>& emit) {
  REPRISE_ASSIGN_OR_RETURN(Figure judging, MeasureJudging(context));
  emit(std::move(judging));
  emit(MeasureMemory());
  return {};
}

}  // namespace

FigureGroup CaseFigures() {
  return {"case", "judging one large case, and the memory of one more", Measure};
}

}  // namespace reprise::bench
