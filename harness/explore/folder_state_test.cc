// A FolderState must become what the same operations make of a real folder, and a log that lacks an
// operation must be seen.

#include "harness/explore/folder_state.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/falloc.h>
#include <rapidcheck.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>

#include "harness/base/check.h"
#include "harness/base/files.h"
#include "harness/base/random.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxBytes = 1 << 20;

Operation OfKind(OperationKind kind) {
  Operation operation;
  operation.kind = kind;
  return operation;
}

// Executes operations on a real folder and logs them as a tracer would: paths, inodes, results.
class LoggedFolder {
 public:
  LoggedFolder() {
    std::string name = (fs::temp_directory_path() / "reprise-XXXXXX").string();
    REPRISE_CHECK(mkdtemp(name.data()) != nullptr, name);
    base_ = name;
    fs::create_directory(base_ / "inside");
    fs::create_directory(base_ / "outside");
  }
  LoggedFolder(const LoggedFolder&) = delete;
  LoggedFolder& operator=(const LoggedFolder&) = delete;
  ~LoggedFolder() {
    for (const auto& [fd, name] : open_) {
      close(fd);
    }
    fs::remove_all(base_);
  }

  [[nodiscard]] fs::path Folder() const { return base_ / "inside"; }
  // "outside/x" is a path beside the folder, anything else is inside.
  [[nodiscard]] fs::path Real(const std::string& name) const {
    return name.starts_with("outside/") ? base_ / name : Folder() / name;
  }
  [[nodiscard]] std::string Logged(const std::string& name) const {
    return name.starts_with("outside/") ? Real(name).string() : name;
  }

  // Opens and keeps the descriptor open; the position in open_ is its number.
  void Open(const std::string& name, int flags) {
    Operation operation = OfKind(OperationKind::kOpen);
    operation.creates = (flags & O_CREAT) != 0 && !fs::exists(fs::symlink_status(Real(name)));
    operation.truncates = (flags & O_TRUNC) != 0;
    const int fd = open(Real(name).c_str(), O_WRONLY | O_CLOEXEC | flags, 0644);
    Log(operation, name, "", fd, fd);
    if (fd >= 0) {
      open_.emplace_back(fd, name);
    }
  }
  void Write(std::size_t which, std::int64_t offset, const std::string& data) {
    Operation operation = OfKind(OperationKind::kWrite);
    const auto& [fd, name] = open_[which];
    if ((fcntl(fd, F_GETFL) & O_APPEND) != 0) {
      struct stat status = {};
      fstat(fd, &status);
      offset = status.st_size;  // where the kernel will put it, whatever was asked for
    }
    operation.offset_bytes = offset;
    operation.length_bytes = static_cast<std::int64_t>(data.size());
    operation.data = data;
    Log(operation, name, "", pwrite(fd, data.data(), data.size(), offset), fd);
  }
  void Truncate(std::size_t which, std::int64_t size) {
    Operation operation = OfKind(OperationKind::kTruncate);
    operation.length_bytes = size;
    Log(operation, open_[which].second, "", ftruncate(open_[which].first, size),
        open_[which].first);
  }
  void Allocate(std::size_t which, unsigned mode, std::int64_t offset, std::int64_t length) {
    Operation operation = OfKind(OperationKind::kAllocate);
    operation.mode = mode;
    operation.offset_bytes = offset;
    operation.length_bytes = length;
    const auto& [fd, name] = open_[which];
    Log(operation, name, "", fallocate(fd, static_cast<int>(mode), offset, length), fd);
  }
  void Rename(const std::string& from, const std::string& to, unsigned flags) {
    Operation operation = OfKind(OperationKind::kRename);
    operation.exchanges = (flags & RENAME_EXCHANGE) != 0;
    operation.excludes = (flags & RENAME_NOREPLACE) != 0;
    operation.data = ContentIfOutside(from);
    Identify(&operation, from);
    Log(operation, from, to,
        renameat2(AT_FDCWD, Real(from).c_str(), AT_FDCWD, Real(to).c_str(), flags), -1);
  }
  void Link(const std::string& from, const std::string& to) {
    Operation operation = OfKind(OperationKind::kLink);
    operation.data = ContentIfOutside(from);
    Identify(&operation, from);
    Log(operation, from, to, link(Real(from).c_str(), Real(to).c_str()), -1);
  }
  void Symlink(const std::string& text, const std::string& name) {
    Operation operation = OfKind(OperationKind::kSymlink);
    operation.second_path = Logged(name);
    operation.path = text;
    operation.result = symlink(text.c_str(), Real(name).c_str()) == 0 ? 0 : -errno;
    log_.push_back(operation);
  }
  void Unlink(const std::string& name) {
    Operation operation = OfKind(OperationKind::kUnlink);
    Identify(&operation, name);
    Log(operation, name, "", unlink(Real(name).c_str()), -1);
  }
  void MakeFolder(const std::string& name) {
    Log(OfKind(OperationKind::kMakeFolder), name, "", mkdir(Real(name).c_str(), 0755), -1);
  }
  void RemoveFolder(const std::string& name) {
    Log(OfKind(OperationKind::kRemoveFolder), name, "", rmdir(Real(name).c_str()), -1);
  }

  [[nodiscard]] const std::vector<Operation>& GetLog() const { return log_; }
  [[nodiscard]] std::size_t OpenCount() const { return open_.size(); }
  [[nodiscard]] FolderState Now() const { return FolderState::Scan(Folder(), kMaxBytes).value(); }

 private:
  [[nodiscard]] std::string ContentIfOutside(const std::string& name) const {
    return name.starts_with("outside/") ? ReadFile(Real(name), kMaxBytes).value_or("") : "";
  }
  void Identify(Operation* operation, const std::string& name) const {
    struct stat status = {};
    if (lstat(Real(name).c_str(), &status) == 0) {
      operation->device = status.st_dev;
      operation->inode = status.st_ino;
    }
  }
  void Log(Operation operation, const std::string& path, const std::string& second,
           std::int64_t result, int fd) {
    operation.result = result < 0 ? -errno : result;
    operation.path = Logged(path);
    operation.second_path = second.empty() ? "" : Logged(second);
    struct stat status = {};
    if (fd >= 0 && fstat(fd, &status) == 0) {
      operation.device = status.st_dev;
      operation.inode = status.st_ino;
    }
    log_.push_back(std::move(operation));
  }

  fs::path base_;
  std::vector<std::pair<int, std::string>> open_;
  std::vector<Operation> log_;
};

FolderState Replay(FolderState state, const std::vector<Operation>& log) {
  for (const Operation& operation : log) {
    const Status applied = state.Apply(operation);
    EXPECT_TRUE(applied) << applied.error().ToString();
  }
  return state;
}

const std::vector<std::string> kNoDifference;

// A save with most of what a file system offers; the test below leaves out one operation at a time.
void SaveOnce(LoggedFolder* folder) {
  folder->MakeFolder("step.partial");
  folder->Open("step.partial/shard", O_CREAT | O_EXCL);
  folder->Write(0, 0, "header");
  folder->Write(0, 100, "sparse");
  folder->Truncate(0, 103);
  folder->Allocate(0, 0, 0, 200);
  folder->Allocate(0, FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE, 2, 2);
  folder->Open("log", O_CREAT | O_APPEND);
  folder->Write(1, 0, "one");
  folder->Write(1, 0, "two");
  folder->Rename("step.partial", "step", 0);
  folder->Write(0, 0, "H");  // the open file goes along with its folder
  folder->Link("step/shard", "other name");
  folder->Symlink("step/shard", "link");
  folder->Unlink("step/shard");
  folder->Write(0, 1, "E");  // is seen through the other name
}

TEST(FolderStateTest, FollowsASaveExactly) {
  LoggedFolder folder;
  SaveOnce(&folder);
  const FolderState predicted = Replay(FolderState(), folder.GetLog());
  EXPECT_EQ(predicted.DifferencesFrom(folder.Now()), kNoDifference);
  EXPECT_EQ(*predicted.Entries().at("log").content, "onetwo");
}

TEST(FolderStateTest, SeesEachOperationThatALogLacks) {
  LoggedFolder folder;
  SaveOnce(&folder);
  const FolderState now = folder.Now();
  for (std::size_t missing = 0; missing < folder.GetLog().size(); ++missing) {
    FolderState state;
    bool fits = true;
    for (std::size_t i = 0; i < folder.GetLog().size() && fits; ++i) {
      fits = i == missing || state.Apply(folder.GetLog()[i]).has_value();
    }
    EXPECT_TRUE(!fits || !state.DifferencesFrom(now).empty()) << "operation " << missing;
  }
}

TEST(FolderStateTest, SeesAWrongByteAWrongOffsetAndAMissingWrite) {
  LoggedFolder folder;
  folder.Open("a", O_CREAT);
  folder.Write(0, 0, "abc");
  const FolderState now = folder.Now();
  std::vector<Operation> log = folder.GetLog();
  log[1].data = "abd";
  EXPECT_EQ(Replay({}, log).DifferencesFrom(now),
            std::vector<std::string>{"a: 3 bytes here, 3 there, different from byte 2"});
  log[1] = folder.GetLog()[1];
  log[1].offset_bytes = 1;
  EXPECT_EQ(Replay({}, log).DifferencesFrom(now),
            std::vector<std::string>{"a: 4 bytes here, 3 there, different from byte 0"});
  log[1].data = "ab";
  FolderState state;
  ASSERT_TRUE(state.Apply(log[0]));
  EXPECT_EQ(state.Apply(log[1]).error().code, ErrorCode::kCorrupt);
}

TEST(FolderStateTest, WritesToAnUnlinkedFileGoNowhere) {
  LoggedFolder folder;
  folder.Open("a", O_CREAT);
  folder.Unlink("a");
  folder.Open("a", O_CREAT);
  folder.Write(0, 0, "lost");
  folder.Write(1, 0, "kept");
  const FolderState predicted = Replay({}, folder.GetLog());
  EXPECT_EQ(predicted.DifferencesFrom(folder.Now()), kNoDifference);
  EXPECT_EQ(*predicted.Entries().at("a").content, "kept");
}

TEST(FolderStateTest, FilesComeFromOutsideWithTheirContentAndLeave) {
  LoggedFolder folder;
  folder.Open("outside/file", O_CREAT);
  folder.Write(0, 0, "content");
  folder.Rename("outside/file", "in", 0);
  folder.Write(0, 7, " and more");
  folder.Open("outside/second", O_CREAT);
  folder.Link("outside/second", "linked");
  EXPECT_EQ(Replay({}, folder.GetLog()).DifferencesFrom(folder.Now()), kNoDifference);
  folder.Rename("in", "outside/gone", 0);
  folder.Write(0, 0, "C");
  EXPECT_EQ(Replay({}, folder.GetLog()).DifferencesFrom(folder.Now()), kNoDifference);
  EXPECT_FALSE(folder.Now().Entries().contains("in"));
}

TEST(FolderStateTest, StartsFromWhatIsThereAndACopyIsItsOwn) {
  LoggedFolder folder;
  folder.Open("a", O_CREAT);
  folder.Write(0, 0, "before");
  folder.Link("a", "b");
  const FolderState before = folder.Now();
  const std::size_t known = folder.GetLog().size();
  folder.Write(0, 0, "after!");
  const std::vector<Operation> later(folder.GetLog().begin() + static_cast<std::ptrdiff_t>(known),
                                     folder.GetLog().end());
  const FolderState after = Replay(before, later);
  EXPECT_EQ(after.DifferencesFrom(folder.Now()), kNoDifference);
  EXPECT_EQ(*after.Entries().at("b").content, "after!");
  EXPECT_EQ(*before.Entries().at("a").content, "before");
}

TEST(FolderStateTest, ARenameBetweenTwoNamesOfOneLinkDoesNothing) {
  LoggedFolder folder;
  folder.Symlink("nowhere", "a");
  folder.Link("a", "b");
  folder.Rename("a", "b", 0);
  EXPECT_EQ(Replay({}, folder.GetLog()).DifferencesFrom(folder.Now()), kNoDifference);
  EXPECT_TRUE(folder.Now().Entries().contains("a"));
}

TEST(FolderStateTest, AllocationsThatMoveDataMoveIt) {
  LoggedFolder folder;
  folder.Open("a", O_CREAT);
  FolderState state = Replay({}, folder.GetLog());
  Operation write = OfKind(OperationKind::kWrite);
  write.path = "a";
  write.data = "0123456789";
  write.length_bytes = 10;
  Operation allocate = OfKind(OperationKind::kAllocate);
  allocate.path = "a";
  allocate.offset_bytes = 2;
  allocate.length_bytes = 3;
  allocate.mode = FALLOC_FL_COLLAPSE_RANGE;
  ASSERT_TRUE(state.Apply(write));
  ASSERT_TRUE(state.Apply(allocate));
  EXPECT_EQ(*state.Entries().at("a").content, "0156789");
  allocate.mode = FALLOC_FL_INSERT_RANGE;
  ASSERT_TRUE(state.Apply(allocate));
  EXPECT_EQ(*state.Entries().at("a").content, std::string("01\0\0\00056789", 10));
  allocate.offset_bytes = 9;
  allocate.mode = FALLOC_FL_COLLAPSE_RANGE;
  EXPECT_EQ(state.Apply(allocate).error().code, ErrorCode::kCorrupt);
}

TEST(FolderStateTest, TheContentOfAMappedFileIsNotCompared) {
  LoggedFolder folder;
  folder.Open("a", O_CREAT);
  FolderState state = Replay({}, folder.GetLog());
  Operation map = OfKind(OperationKind::kMapShared);
  map.path = "a";
  ASSERT_TRUE(state.Apply(map));
  EXPECT_TRUE(state.Entries().at("a").opaque);
  FolderState written = state;
  Operation write = OfKind(OperationKind::kWrite);
  write.path = "a";
  write.length_bytes = 1;
  write.data = "x";
  ASSERT_TRUE(written.Apply(write));
  EXPECT_EQ(written.DifferencesFrom(folder.Now()), kNoDifference);
  EXPECT_EQ(FolderState().DifferencesFrom(state).size(), 1U);  // its name is
}

TEST(FolderStateTest, RefusesImpossibleSizesAndTooMuchContent) {
  LoggedFolder folder;
  folder.Open("a", O_CREAT);
  FolderState state = Replay({}, folder.GetLog());
  Operation write = OfKind(OperationKind::kWrite);
  write.path = "a";
  write.offset_bytes = INT64_MAX;
  write.length_bytes = 1;
  write.data = "x";
  EXPECT_EQ(state.Apply(write).error().code, ErrorCode::kCorrupt);
  write.offset_bytes = std::int64_t{1} << 60;
  EXPECT_EQ(state.Apply(write).error().code, ErrorCode::kCorrupt);
  folder.Write(0, 0, "0123456789");
  EXPECT_FALSE(FolderState::Scan(folder.Folder(), 9));
  EXPECT_TRUE(FolderState::Scan(folder.Folder(), 10));
  const auto absent = FolderState::Scan(folder.Folder() / "absent", 1);
  ASSERT_TRUE(absent);
  EXPECT_TRUE(absent->Entries().empty());
}

// One operation with few names, so that most of them meet: many fail, and failing ones must not
// count.
void DoSomething(LoggedFolder* folder) {
  const std::vector<std::string> names = {"a", "b",   "d",         "d/a",      "d/b",
                                          "e", "e/a", "outside/x", "outside/y"};
  const auto any = [&names] { return names[*rc::gen::inRange<std::size_t>(0, names.size())]; };
  const int kind = *rc::gen::inRange(0, 12);
  if (kind >= 8 && folder->OpenCount() > 0) {
    const auto which = *rc::gen::inRange<std::size_t>(0, folder->OpenCount());
    const auto offset = *rc::gen::inRange<std::int64_t>(0, 40);
    if (kind >= 10) {
      folder->Write(which, offset, *rc::gen::string<std::string>());
    } else if (kind == 9) {
      folder->Truncate(which, offset);
    } else {
      const unsigned mode = *rc::gen::element<unsigned>(0, FALLOC_FL_KEEP_SIZE,
                                                        FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE);
      folder->Allocate(which, mode, offset, *rc::gen::inRange<std::int64_t>(1, 20));
    }
  } else if (kind == 0) {
    folder->MakeFolder(*rc::gen::element<std::string>("d", "e", "d/a"));
  } else if (kind == 1) {
    folder->Rename(any(), any(),
                   *rc::gen::element<unsigned>(0, 0, 0, RENAME_EXCHANGE, RENAME_NOREPLACE));
  } else if (kind == 2) {
    folder->Link(any(), any());
  } else if (kind == 3) {
    folder->Symlink("nowhere", any());
  } else if (kind == 4) {
    folder->Unlink(any());
  } else if (kind == 5) {
    folder->RemoveFolder(*rc::gen::element<std::string>("d", "e", "d/a"));
  } else {
    folder->Open(any(), O_NOFOLLOW | *rc::gen::element(O_CREAT, O_CREAT | O_EXCL, O_TRUNC, 0,
                                                       O_CREAT | O_TRUNC, O_CREAT | O_APPEND));
  }
}

// Folders and links that cross the border come to a log as operations of their own; not tested
// here.
bool CrossesTheBorder(const LoggedFolder& folder, const Operation& operation) {
  const bool leaves = operation.second_path.starts_with("/");
  const bool enters = operation.path.starts_with("/") && !leaves;
  if (operation.result < 0 || operation.second_path.empty()) {
    return false;
  }
  const fs::path now =
      leaves ? fs::path(operation.second_path) : folder.Folder() / operation.second_path;
  const bool both = operation.exchanges && (operation.path.starts_with("/") || leaves);
  return both || ((enters || leaves) && !fs::is_regular_file(fs::symlink_status(now)));
}

TEST(FolderStateProperties, OperationsOnAFolderAndOnItsStateAgree) {
  EXPECT_TRUE(rc::check([] {
    LoggedFolder folder;
    const int count = *rc::gen::inRange(1, 40);
    FolderState state;
    for (int i = 0; i < count; ++i) {
      const std::size_t known = folder.GetLog().size();
      DoSomething(&folder);
      for (std::size_t n = known; n < folder.GetLog().size(); ++n) {
        const Operation& operation = folder.GetLog()[n];
        if (CrossesTheBorder(folder, operation)) {
          return;
        }
        const Status applied = state.Apply(operation);
        RC_ASSERT((applied ? "" : applied.error().ToString()) == "");
      }
      RC_ASSERT(state.DifferencesFrom(folder.Now()) == kNoDifference);
    }
  }));
}

}  // namespace
}  // namespace reprise
