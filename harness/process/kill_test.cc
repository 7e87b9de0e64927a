// A kill at any operation leaves exactly the folder that the log predicts, and nothing that runs.

#include <gmock/gmock.h>
#include <sys/mount.h>

#include <cerrno>
#include <set>

#include "harness/process/testing.h"

namespace reprise {
namespace {

using ::reprise::testing::AttemptFolders;
using ::reprise::testing::Contradictions;
using ::reprise::testing::Found;
using ::reprise::testing::Joined;
using ::reprise::testing::MakeSupervisor;
using ::reprise::testing::MustRun;
using ::reprise::testing::OperationsOf;
using ::reprise::testing::Short;
using ::reprise::testing::ShortOperations;
using ::reprise::testing::TestInjector;
using ::testing::AllOf;
using ::testing::HasSubstr;

struct KilledLife {
  AttemptResult result;
  std::vector<std::string> differences;  // of the folder from the prediction
};

KilledLife KillAt(Supervisor& supervisor, const std::string& victim, int world,
                  const OperationAddress& address, CutPoint cut) {
  const AttemptFolders folders;
  TestInjector injector;
  injector.on_operation = [&](const Operation& operation) {
    return operation.address == address ? Action::KillAllRanks(cut) : Action::Continue();
  };
  AttemptSpec spec = victim == "pair" ? folders.Spec(victim, {"3", "fails"}, world)
                                      : folders.Spec(victim, {}, world);
  spec.injectors = {&injector};
  spec.injector_names = {"kill.test"};
  KilledLife life{MustRun(supervisor, spec), {}};
  life.differences = Contradictions(OperationsOf(life.result), Found(folders));
  return life;
}

std::vector<Operation> ReferenceOf(Supervisor& supervisor, const std::string& victim) {
  const AttemptFolders folders;
  return OperationsOf(MustRun(supervisor, folders.Spec(victim)));
}

const FaultEvent* FaultOf(const AttemptResult& result) {
  for (const AttemptEvent& event : result.events) {
    if (const auto* fault = std::get_if<FaultEvent>(&event)) {
      return fault;
    }
  }
  return nullptr;
}

TEST(KillTest, BeforeAndAfterEveryOperationLeavesThePredictedFolder) {
  const auto supervisor = MakeSupervisor();
  const std::vector<Operation> reference = ReferenceOf(*supervisor, "save_by_rename");
  ASSERT_EQ(reference.size(), 37U);
  for (std::size_t i = 0; i < reference.size(); ++i) {
    for (const auto kind : {CutPoint::Kind::kBefore, CutPoint::Kind::kAfter}) {
      const KilledLife life =
          KillAt(*supervisor, "save_by_rename", 1, reference[i].address, {kind, 0});
      EXPECT_EQ(life.result.end, AttemptEnd::kFault);
      EXPECT_EQ(life.result.ranks[0].end, RankEnd::kKilledByFault);
      EXPECT_EQ(OperationsOf(life.result).size(), i + (kind == CutPoint::Kind::kAfter ? 1 : 0));
      EXPECT_TRUE(life.differences.empty()) << Short(reference[i]) << Joined(life.differences);
    }
  }
}

TEST(KillTest, InsideAWriteLetsExactlyTheFirstBytesThrough) {
  const auto supervisor = MakeSupervisor();
  for (const Operation& operation : ReferenceOf(*supervisor, "save_by_rename")) {
    for (std::int64_t bytes = 1;
         operation.kind == OperationKind::kWrite && bytes < operation.length_bytes; bytes += 3) {
      const KilledLife life = KillAt(*supervisor, "save_by_rename", 1, operation.address,
                                     {CutPoint::Kind::kBytes, bytes});
      const Operation last = OperationsOf(life.result).back();
      EXPECT_EQ(last.address, operation.address);
      EXPECT_EQ(last.result, bytes);
      EXPECT_EQ(last.data, operation.data.substr(0, static_cast<std::size_t>(bytes)));
      EXPECT_TRUE(life.differences.empty()) << Short(last) << Joined(life.differences);
    }
  }
}

TEST(KillTest, EveryKindOfOperationCanBeTheLastOne) {
  const auto supervisor = MakeSupervisor();
  std::set<std::pair<OperationKind, std::string>> done;
  for (const Operation& operation : ReferenceOf(*supervisor, "every_operation")) {
    if (!done.insert({operation.kind, operation.call}).second) {
      continue;
    }
    for (const auto kind :
         {CutPoint::Kind::kBefore, CutPoint::Kind::kAfter, CutPoint::Kind::kBytes}) {
      // Of a call that writes nothing it is a kill before it: one of these is enough.
      if (kind == CutPoint::Kind::kBytes && operation.kind != OperationKind::kWrite &&
          operation.kind != OperationKind::kRename) {
        continue;
      }
      const KilledLife life =
          KillAt(*supervisor, "every_operation", 1, operation.address, {kind, 2});
      EXPECT_EQ(life.result.end, AttemptEnd::kFault) << Short(operation);
      EXPECT_TRUE(life.differences.empty()) << Short(operation) << Joined(life.differences);
    }
  }
}

TEST(KillTest, OfManyThreadsLeavesThePredictedFolder) {
  const auto supervisor = MakeSupervisor();
  for (int n = 7; n < 200; n += 40) {
    const KilledLife life =
        KillAt(*supervisor, "threads_write", 1, {0, 0, n}, {CutPoint::Kind::kBytes, 11});
    EXPECT_EQ(life.result.end, AttemptEnd::kFault);
    EXPECT_TRUE(life.differences.empty()) << Joined(life.differences);
  }
}

TEST(KillTest, OfTwoRanksLeavesThePredictedFolder) {
  const auto supervisor = MakeSupervisor();
  for (int rank = 0; rank < 2; ++rank) {
    for (int n = 0; n < 2; ++n) {
      const KilledLife life =
          KillAt(*supervisor, "pair", 2, {rank, 0, n}, {CutPoint::Kind::kAfter, 0});
      EXPECT_EQ(life.result.ranks[0].end, RankEnd::kKilledByFault);
      EXPECT_EQ(life.result.ranks[1].end, RankEnd::kKilledByFault);
      EXPECT_TRUE(life.differences.empty()) << Joined(life.differences);
    }
  }
}

TEST(KillTest, ThePredictionFindsAnOperationThatIsMissing) {
  const AttemptFolders folders;
  const auto supervisor = MakeSupervisor();
  std::vector<Operation> operations =
      OperationsOf(MustRun(*supervisor, folders.Spec("save_by_rename")));
  EXPECT_TRUE(Contradictions(operations, Found(folders)).empty());
  operations.pop_back();  // the rmdir of the last retention
  EXPECT_FALSE(Contradictions(operations, Found(folders)).empty());
}

TEST(KillTest, IsLoggedBeforeItTakesEffect) {
  const auto supervisor = MakeSupervisor();
  const KilledLife life =
      KillAt(*supervisor, "save_by_rename", 1, {0, 1, 3}, {CutPoint::Kind::kBytes, 2});
  const FaultEvent* const fault = FaultOf(life.result);
  ASSERT_NE(fault, nullptr);
  EXPECT_EQ(fault->injector, "kill.test");
  EXPECT_EQ(fault->what,
            "SIGKILL to all ranks after 2 of 3 bytes of rank 0, save 1, operation 3 (pwrite64 "
            "step-2/shard)");
  EXPECT_TRUE(std::holds_alternative<OperationEvent>(life.result.events.back()));
}

TEST(KillTest, AtARecordEndsTheSequenceWithIt) {
  const AttemptFolders folders;
  const auto supervisor = MakeSupervisor();
  TestInjector injector;
  injector.on_record = [](int, const LogRecord& record) {
    const auto* step = std::get_if<StepRecord>(&record);
    return step != nullptr && step->step == 2 ? Action::KillAllRanks() : Action::Continue();
  };
  AttemptSpec spec = folders.Spec("save_by_rename");
  spec.injectors = {&injector};
  const AttemptResult result = MustRun(*supervisor, spec);
  ASSERT_NE(FaultOf(result), nullptr);
  EXPECT_THAT(FaultOf(result)->what, HasSubstr("after a step record of rank 0"));
  EXPECT_EQ(OperationsOf(result).size(), 11U);  // the save after step 1, whole
  const auto& record = std::get<RecordEvent>(result.events[result.events.size() - 2]);
  EXPECT_THAT(record.line, HasSubstr("\"step\":2"));
}

AttemptResult KillRankOne(Supervisor& supervisor, const std::string& on_loss,
                          std::chrono::milliseconds grace) {
  const AttemptFolders folders;
  TestInjector injector;
  injector.on_record = [](int rank, const LogRecord&) {
    return rank == 1 ? Action::KillOneRank(1) : Action::Continue();
  };
  AttemptSpec spec = folders.Spec("pair", {"100000000", on_loss}, 2);
  spec.injectors = {&injector};
  spec.peers_grace = grace;
  return MustRun(supervisor, spec);
}

TEST(KillTest, OfOneRankLeavesItsPeerTheTimeToEndByItself) {
  const auto supervisor = MakeSupervisor();
  const AttemptResult result = KillRankOne(*supervisor, "fails", std::chrono::seconds(60));
  EXPECT_EQ(result.end, AttemptEnd::kFault);
  EXPECT_EQ(result.ranks[1].end, RankEnd::kKilledByFault);
  EXPECT_EQ(result.ranks[0].end, RankEnd::kExited);
  EXPECT_EQ(result.ranks[0].status, 7);
}

TEST(KillTest, OfOneRankEndsAPeerThatWaitsForEver) {
  const auto supervisor = MakeSupervisor();
  const AttemptResult result = KillRankOne(*supervisor, "waits", std::chrono::milliseconds(50));
  EXPECT_EQ(result.ranks[1].end, RankEnd::kKilledByFault);
  EXPECT_EQ(result.ranks[0].end, RankEnd::kKilledAfter);
}

// A life in which rank 1 is held before its first operation, with the differences of the folder
// from what the log predicts.
KilledLife HoldRankOne(Supervisor& supervisor, const std::string& how, const std::string& then,
                       std::vector<std::string>& firings) {
  const AttemptFolders folders;
  auto hold =
      MakeInjector({.kind = "hold.operation", .params = {{"operation", "1/0/0"}, {"then", then}}});
  EXPECT_TRUE(hold);
  AttemptSpec spec = folders.Spec("early_publish", {how, "1000"}, 2);
  spec.injectors = {hold->get()};
  spec.injector_names = {"hold.operation"};
  spec.still_after = std::chrono::milliseconds(how == "barrier" ? 100 : 3000);
  KilledLife life{MustRun(supervisor, spec), {}};
  life.differences = Contradictions(OperationsOf(life.result), Found(folders));
  firings = (*hold)->Firings();
  return life;
}

// After some operations of the log, rank 0 has published and the shard of rank 1 is not there.
bool EverPublishedTooEarly(const std::vector<Operation>& operations) {
  bool has_shard = false;
  bool is_early = false;
  for (const Operation& operation : operations) {
    has_shard |= operation.kind == OperationKind::kWrite && operation.path == "shard-1";
    is_early |= operation.kind == OperationKind::kRename && !has_shard;
  }
  return is_early;
}

TEST(HoldTest, TheOthersGoOnUntilTheyWaitThenAllAreKilled) {
  const auto supervisor = MakeSupervisor();
  std::vector<std::string> firings;
  const KilledLife life = HoldRankOne(*supervisor, "barrier", "kill", firings);
  EXPECT_EQ(life.result.end, AttemptEnd::kFault);
  EXPECT_EQ(life.result.ranks[1].end, RankEnd::kKilledByFault);
  EXPECT_TRUE(life.differences.empty()) << Joined(life.differences);
  EXPECT_EQ(
      ShortOperations(life.result),
      (std::vector<std::string>{"open(openat) shard-0 creates truncates",
                                "write(write) shard-0 0+6 \"values\"", "sync(fsync) shard-0"}));
  ASSERT_EQ(firings.size(), 2U);
  EXPECT_THAT(firings[0], HasSubstr("rank 1 held before its operation 0 of save 0"));
  EXPECT_THAT(firings[1],
              AllOf(HasSubstr("SIGKILL to all ranks after"), HasSubstr("which stand still")));
  ASSERT_NE(FaultOf(life.result), nullptr);  // logged before the others went on
  EXPECT_THAT(FaultOf(life.result)->what, HasSubstr("rank 1 is held before rank 1, save 0"));
}

TEST(HoldTest, AReleasedRankMakesItsOperationAndTheRunEndsByItself) {
  const auto supervisor = MakeSupervisor();
  std::vector<std::string> firings;
  const KilledLife life = HoldRankOne(*supervisor, "barrier", "release", firings);
  EXPECT_EQ(life.result.end, AttemptEnd::kAllExited);
  EXPECT_EQ(life.result.ranks[1].status, 0);
  EXPECT_TRUE(life.differences.empty()) << Joined(life.differences);
  const std::vector<Operation> operations = OperationsOf(life.result);
  ASSERT_EQ(operations.size(), 9U) << Joined(ShortOperations(life.result));
  EXPECT_EQ(operations[3].address, (OperationAddress{1, 0, 0}));
  EXPECT_FALSE(EverPublishedTooEarly(operations));
  ASSERT_EQ(firings.size(), 2U);
  EXPECT_THAT(firings[1], AllOf(HasSubstr("it goes on after"), HasSubstr("which stand still")));
}

TEST(HoldTest, FindsAPublicationThatNoPrefixOfAnUndisturbedRunShows) {
  const auto supervisor = MakeSupervisor();
  const AttemptFolders folders;
  const AttemptResult undisturbed =
      MustRun(*supervisor, folders.Spec("early_publish", {"impatient", "1000"}, 2));
  EXPECT_EQ(OperationsOf(undisturbed).size(), 9U);
  EXPECT_FALSE(EverPublishedTooEarly(OperationsOf(undisturbed)));
  std::vector<std::string> firings;
  const KilledLife life = HoldRankOne(*supervisor, "impatient", "kill", firings);
  EXPECT_TRUE(EverPublishedTooEarly(OperationsOf(life.result)));
  EXPECT_TRUE(life.differences.empty()) << Joined(life.differences);
  ASSERT_EQ(firings.size(), 2U);
  EXPECT_THAT(firings[1], HasSubstr("which have ended"));
}

TEST(HoldTest, EndsAtItsLimitWhereTheOthersNeverRest) {
  const auto supervisor = MakeSupervisor();
  const AttemptFolders folders;
  auto hold = MakeInjector({.kind = "hold.operation", .params = {{"operation", "0/0/0"}}});
  AttemptSpec spec = folders.Spec("early_publish", {"barrier", "0"}, 2);
  spec.commands[1] = {"sh", "-c", "while :; do :; done"};
  spec.commands[0] = {"sh", "-c", "echo x > " + (folders.Checkpoint() / "file").string()};
  spec.injectors = {hold->get()};
  spec.hold_limit = std::chrono::milliseconds(300);
  const AttemptResult result = MustRun(*supervisor, spec);
  EXPECT_EQ(result.end, AttemptEnd::kFault);
  EXPECT_FALSE(std::filesystem::exists(folders.Checkpoint() / "file"));
  ASSERT_EQ((*hold)->Firings().size(), 2U);
  EXPECT_THAT((*hold)->Firings()[1], HasSubstr("which never stood still"));
}

// A file system of 64 KiB where we may mount one.
class SmallDisk {
 public:
  explicit SmallDisk(std::filesystem::path folder)
      : folder_(std::move(folder)),
        is_mounted_(mount("small", folder_.c_str(), "tmpfs", 0, "size=64k") == 0) {}
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    if (is_mounted_) {
      umount(folder_.c_str());
    }
  }
  [[nodiscard]] bool IsMounted() const { return is_mounted_; }

 private:
  std::filesystem::path folder_;
  bool is_mounted_;
};

TEST(FullDiskTest, LeavesThePredictedFolderAndTheTargetsOwnEnd) {
  const auto supervisor = MakeSupervisor();
  const AttemptFolders folders;
  const SmallDisk disk(folders.Checkpoint());
  const AttemptResult result =
      MustRun(*supervisor, folders.Spec("bad_habits", {"fills", disk.IsMounted() ? "0" : "65536"}));
  EXPECT_EQ(result.end, AttemptEnd::kAllExited);
  EXPECT_EQ(result.ranks[0].status, 7);
  const std::vector<Operation> operations = OperationsOf(result);
  EXPECT_EQ(operations.back().result, disk.IsMounted() ? -ENOSPC : -EFBIG);
  EXPECT_LT(operations[operations.size() - 2].length_bytes, 3000);  // what still had room
  EXPECT_TRUE(Contradictions(operations, Found(folders)).empty());
}

TEST(KillTest, IsNotExecutedWhenItsOperationNeverComes) {
  const auto supervisor = MakeSupervisor();
  const KilledLife life = KillAt(*supervisor, "save_by_rename", 1, {0, 9, 0}, {});
  EXPECT_EQ(life.result.end, AttemptEnd::kAllExited);
  EXPECT_EQ(FaultOf(life.result), nullptr);
}

}  // namespace
}  // namespace reprise
