// The record of each victim is the list of what it does, and predicts the folder on disk. And for
// each watched call and each kind of operation: without it the record is wrong.
//
// The second half keeps the first honest. A call that is watched but made by no victim fails here,
// as does one whose absence nobody would notice.

#include <elf.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <csignal>
#include <cstddef>
#include <cstring>

#include "harness/process/testing.h"

namespace reprise {
namespace {

using ::reprise::testing::AttemptFolders;
using ::reprise::testing::Content;
using ::reprise::testing::Contradictions;
using ::reprise::testing::Found;
using ::reprise::testing::Joined;
using ::reprise::testing::MakeSupervisor;
using ::reprise::testing::MustRun;
using ::reprise::testing::OperationsOf;
using ::reprise::testing::ShortOperations;
using ::reprise::testing::TestInjector;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::TestWithParam;
using ::testing::UnorderedElementsAreArray;

constexpr const char* kDisk = "/var/tmp";  // a file system that is not in memory
constexpr int kNotHere = 77;               // exit status: this machine cannot do it

constexpr const char* kMapped =
    "rank 0 mapped files of the checkpoint folder so that it can write to them unseen; the content "
    "of these files is not compared (1 times)";

// What one victim does when it is told to make `group`. "OTHER/" stands for the folder beside the
// checkpoint folder.
struct Group {
  const char* victim;
  const char* group;
  std::vector<std::string> operations;
  std::vector<std::string> blind_spots = {};
  const char* folder = nullptr;        // base of the folders; null: in memory
  const char* other_folder = nullptr;  // of OTHER, if that lies elsewhere
};

// NOLINTNEXTLINE(readability-function-size): a table
const std::vector<Group>& Groups() {
  static const std::vector<Group> groups = {
      {"every_operation",
       "opens",
       {"open(open) opened creates", "open(creat) opened truncates", "open(openat) opened",
        "open(openat) opened truncates", "open(openat2) exclusive creates",
        "open(openat2) exclusive fails", "open(mknod) node creates",
        "open(mknodat) node at creates", "open(openat)  creates", "write(write)  0+2 \"un\"",
        "link(linkat)  -> named \"un\"", "write(write) named 2+5 \"named\""}},
      {"every_operation",
       "writes",
       {"open(openat) written creates truncates", "write(write) written 0+10 \"0123456789\"",
        "write(pwrite64) written 4+3 \"abc\"", "write(writev) written 10+6 \"vector\"",
        "write(pwritev) written 20+6 \"vector\"", "write(pwritev2) written 1+6 \"vector\"",
        "write(pwritev2) written 16+3 \"vec\"", "write(pwritev2) written 26+3 \"vec\"",
        "write(write) written 30+3 \"gap\"", "write(write) written 33+0",
        "write(write) written 0+0 fails", "open(openat) log creates",
        "write(write) log 0+3 \"one\"", "write(pwrite64) log 3+3 \"two\"",
        "write(pwritev2) log 6+3 \"vec\""}},
      {"every_operation",
       "copies",
       {"open(openat) source creates truncates", "write(write) source 0+10 \"0123456789\"",
        "open(openat) copy creates truncates", "write(sendfile) copy 0+6 \"123456\"",
        "write(copy_file_range) copy 2+3 \"012\"", "write(copy_file_range) copy 6+2 \"34\"",
        "write(splice) copy 8+3 \"spl\"", "write(splice) copy 20+4 \"iced\"",
        "write(ioctl) copy 0+0 fails"}},
      {"every_operation",
       "sizes",
       {"open(openat) sizes creates truncates", "write(write) sizes 0+10 \"0123456789\"",
        "truncate(ftruncate) sizes 4", "allocate(fallocate) sizes 2+6",
        "allocate(fallocate) sizes 0+100", "allocate(fallocate) sizes 1+2",
        "truncate(truncate) sizes 7"}},
      {"every_operation",
       "syncs",
       {"open(openat) synced creates truncates", "write(write) synced 0+1 \"x\"",
        "sync(fsync) synced", "sync(fdatasync) synced", "sync-range(sync_file_range) synced 0+4",
        "sync(fsync) .", "sync(syncfs) "}},
      {"every_operation",
       "names",
       {"open(openat) a creates truncates",
        "write(write) a 0+4 \"name\"",
        "link(link) a -> b",
        "link(linkat) a -> c",
        "symlink(symlink) a -> to a",
        "symlink(symlinkat) b -> to b",
        "rename(rename) c -> d",
        "rename(rename) a -> b",
        "rename(renameat) d -> e",
        "rename(renameat2) e -> f excludes",
        "rename(renameat2) f -> a excludes fails",
        "mkdir(mkdir) folder",
        "mkdir(mkdirat) inner",
        "mkdir(mkdirat) inner fails",
        "rename(renameat2) f -> folder exchanges",
        "rename(rename) inner -> f/inner",
        "open(openat) f/inner/deep creates",
        "rename(rename) f -> g",
        "unlink(unlink) to a",
        "unlink(unlinkat) to b",
        "unlink(unlinkat) g/inner/deep",
        "rmdir(rmdir) g/inner",
        "rmdir(unlinkat) g",
        "write(write) a 4+9 \" of three\""}},
      {"every_operation",
       "attributes",
       {"open(openat) attributes creates truncates", "attributes(fchmod) attributes",
        "attributes(fchown) attributes", "attributes(chmod) attributes",
        "attributes(fchmodat) attributes", "attributes(fchmodat2) attributes",
        "attributes(chown) attributes", "attributes(lchown) attributes",
        "attributes(fchownat) attributes", "attributes(utime) attributes",
        "attributes(utimes) attributes", "attributes(futimesat) attributes",
        "attributes(utimensat) attributes"}},
      {"every_operation",
       "nameless",
       {"open(openat) nameless creates truncates", "unlink(unlink) nameless",
        "write(write)  0+4 \"lost\""}},
      {"every_operation",
       "map",
       {"open(openat) mapped creates truncates", "write(write) mapped 0+6 \"mapped\"",
        "map-shared(mmap) mapped 0+6"},
       {kMapped}},
      {"every_operation",
       "protect",
       {"open(openat) protected creates truncates", "write(write) protected 0+9 \"protected\"",
        "map-shared(mmap) protected 0+9"},
       {kMapped}},
      {"every_operation",
       "map harmlessly",
       {"open(openat) read creates truncates", "write(write) read 0+4 \"read\""}},
      {"every_operation",
       "direct",
       {"open(openat) direct creates",
        "write(write) direct 0+8192 \"" + std::string(4096, 'd') + std::string(4096, 'e') + "\"",
        "write(pwrite64) direct 0+4096 \"" + std::string(4096, 'e') + "\""},
       {},
       kDisk},
      {"every_operation",
       "dup",
       {"open(openat) low creates truncates", "write(write) low 0+3 \"dup\""}},
      {"every_operation",
       "dup2",
       {"open(openat) low creates truncates", "write(write) low 0+4 \"dup2\""}},
      {"every_operation",
       "dup3",
       {"open(openat) low creates truncates", "write(write) low 0+4 \"dup3\""}},
      {"every_operation",
       "fcntl",
       {"open(openat) low creates truncates", "write(write) low 0+5 \"fcntl\"",
        "write(write) low 5+7 \"cloexec\""}},
      {"every_operation",
       "limit",
       {"open(openat) limited creates truncates", "write(write) limited 0+7 \"limited\""}},
      {"every_operation",
       "standard",
       {"open(openat) zero creates truncates", "write(write) zero 0+4 \"zero\"",
        "truncate(ftruncate) zero 2", "open(openat) one creates truncates",
        "write(write) one 0+3 \"one\"", "truncate(ftruncate) one 1",
        "write(write) one 3+4 \"nine\"", "write(write) one 7+5 \"other\""}},
      {"every_operation",
       "denied",
       {"open(openat) file creates truncates", "write(write) file 0+8 \"fallback\""},
       {"information: rank 0 was denied io_submit (1 times)",
        "information: rank 0 was denied io_uring_setup (1 times)",
        "information: rank 0 was denied io_uring_enter (1 times)",
        "information: rank 0 was denied io_uring_register (1 times)"}},
      {"moves_in",
       "files",
       {"rename(rename) OTHER/file -> file \"moved\"",
        "rename(rename) OTHER/newer -> file \"newer\"",
        "link(link) OTHER/linked -> linked \"linked\"", "open(openat) linked",
        "write(write) linked 6+6 \" later\"", "truncate(truncate) linked 3",
        "rename(rename) file -> OTHER/file", "rename(rename) linked -> linked"}},
      {"moves_in",
       "folders",
       {"mkdir(mkdir) folder", "rmdir(rename) folder", "mkdir(rename) folder",
        "mkdir(rename) folder/deep", "open(rename) folder/inner creates",
        "write(rename) folder/inner 0+11 \"in a folder\"",
        "link(rename) folder/inner -> folder/same", "symlink(rename) inner -> folder/to inner",
        "open(openat) folder/same", "write(write) folder/same 0+2 \"IN\"",
        "rename(rename) folder -> OTHER/folder"}},
      {"moves_in",
       "links",
       {"symlink(rename) nowhere -> link", "unlink(rename) link",
        "symlink(rename) elsewhere -> link"}},
      {"moves_in",
       "exchange",
       {"open(openat) file creates truncates", "write(write) file 0+11 \"from inside\"",
        "rename(renameat2) file -> OTHER/file",
        "rename(renameat2) OTHER/file -> file exchanges \"from outside\"",
        "rename(renameat2) file -> OTHER/folder", "mkdir(renameat2) file",
        "open(renameat2) file/inner creates", "write(renameat2) file/inner 0+5 \"inner\""}},
      {"moves_in",
       "open file",
       {"rename(rename) OTHER/open -> open \"before\"", "write(write) open 6+6 \" after\"",
        "truncate(ftruncate) open 9"}},
      {"moves_in",
       "mapped",
       {"rename(rename) OTHER/mapped -> mapped \"mapped\"", "map-shared(rename) mapped 0+6"},
       {kMapped}},
      {"moves_in",
       "across",
       {"rename(rename) OTHER/far -> far fails", "open(openat) far creates truncates",
        "write(sendfile) far 0+9 \"from afar\""},
       {},
       nullptr,
       kDisk},
      {"moves_in",
       "reuse",
       {"open(openat) gone creates truncates", "write(write) gone 0+4 \"gone\"",
        "unlink(unlink) gone", "open(openat) last creates truncates",
        "write(write) last 0+4 \"last\""},
       {},
       kDisk},
      {"starts", "fork", {"open(openat) file creates truncates", "write(write) file 0+4 \"fork\""}},
      {"starts",
       "vfork",
       {"open(openat) file creates truncates", "write(write) file 0+9 \"continued\""}},
      {"starts",
       "clone",
       {"open(openat) file creates truncates", "write(write) file 0+5 \"clone\""}},
      {"starts",
       "exec",
       {"open(openat) file creates truncates", "write(write) file 0+9 \"continued\""}},
      {"starts",
       "exec of a thread",
       {"open(openat) file creates truncates", "write(write) file 0+9 \"continued\""}},
  };
  return groups;
}

// What was recorded of a victim, and what it left.
struct Record {
  AttemptResult result;
  std::vector<std::string> operations;
  FolderState found;
  std::string errors;  // its standard error

  [[nodiscard]] std::vector<std::string> ContradictionsWithDisk() const {
    return Contradictions(OperationsOf(result), found);
  }
};

Record RecordOf(Supervisor& supervisor, const AttemptFolders& folders, const AttemptSpec& spec,
                const std::string& other) {
  Record record;
  record.result = MustRun(supervisor, spec);
  record.operations = ShortOperations(record.result);
  for (std::string& line : record.operations) {
    if (const std::size_t at = line.find(other); at != std::string::npos) {
      line.replace(at, other.size(), "OTHER");
    }
    // Kernels and file systems that lack these refuse them, which is recorded too.
    if (line.find("(fchmodat2)") != std::string::npos && line.ends_with(" fails")) {
      line.resize(line.size() - 6);
    }
  }
  record.found = Found(folders);
  record.errors = Content(folders.Output() / "rank-0.err");
  return record;
}

Record RunGroup(const Group& group, const std::vector<CallShape>& watched = WatchedCalls()) {
  const AttemptFolders folders =
      group.folder == nullptr ? AttemptFolders() : AttemptFolders(group.folder);
  const AttemptFolders elsewhere =
      group.other_folder == nullptr ? AttemptFolders() : AttemptFolders(group.other_folder);
  const std::string other = (group.other_folder == nullptr ? folders : elsewhere).Other().string();
  std::vector<std::string> arguments = {group.group};
  if (group.victim == std::string("moves_in")) {
    arguments.insert(arguments.begin(), other);
  }
  const auto supervisor = MakeSupervisor(watched);
  return RecordOf(*supervisor, folders, folders.Spec(group.victim, arguments), other);
}

std::string AsTestName(std::string text) {
  for (char& letter : text) {
    letter = std::isalnum(static_cast<unsigned char>(letter)) != 0 ? letter : '_';
  }
  return text;
}

void PrintTo(const Group& group, std::ostream* out) { *out << group.victim << " " << group.group; }

class VictimTest : public TestWithParam<Group> {};

TEST_P(VictimTest, IsRecordedExactlyAndItsFolderIsPredicted) {
  const Record record = RunGroup(GetParam());
  if (record.result.ranks[0].status == kNotHere) {
    GTEST_SKIP() << "this file system or machine cannot do it";
  }
  EXPECT_EQ(record.result.ranks[0].status, 0) << record.errors;
  EXPECT_EQ(Joined(record.operations), Joined(GetParam().operations));
  EXPECT_THAT(record.result.blind_spots, UnorderedElementsAreArray(GetParam().blind_spots));
  EXPECT_THAT(record.ContradictionsWithDisk(), IsEmpty());
  EXPECT_LT(record.result.wall_time, std::chrono::seconds(15));  // nobody is waited for in vain
}

INSTANTIATE_TEST_SUITE_P(Every, VictimTest, ::testing::ValuesIn(Groups()), [](const auto& test) {
  return AsTestName(std::string(test.param.victim) + " " + test.param.group);
});

const Group kTold = {"every_operation", "told", {}};
const Group kRanges = {"every_operation", "ranges", {}, {}, kDisk};

// Records of all groups, made once.
const std::vector<std::pair<Group, Record>>& AllRecords() {
  static const std::vector<std::pair<Group, Record>> records = [] {
    std::vector<std::pair<Group, Record>> made;
    for (const Group& group : Groups()) {
      made.emplace_back(group, RunGroup(group));
    }
    made.emplace_back(kTold, RunGroup(kTold));
    return made;
  }();
  return records;
}

// Does the record hold the call, as an operation or as something that is told of it?
bool HasCall(const Record& record, const std::string& name) {
  for (const std::string& line : record.operations) {
    if (line.find("(" + name + ")") != std::string::npos) {
      return true;
    }
  }
  for (const std::string& line : record.result.blind_spots) {
    if (line.find(" denied " + name + " ") != std::string::npos ||
        line.find(" called " + name + ":") != std::string::npos) {
      return true;
    }
  }
  return false;
}

const std::pair<Group, Record>* GroupThatMakes(const CallShape& shape) {
  for (const auto& entry : AllRecords()) {
    // A duplicated descriptor is no operation; what is written through it is.
    if (shape.role == CallRole::kDuplicate ? entry.first.group == std::string(shape.name)
                                           : HasCall(entry.second, shape.name)) {
      return &entry;
    }
  }
  return nullptr;
}

class WatchedCallTest : public TestWithParam<std::string> {};  // its name

TEST_P(WatchedCallTest, IsMissedWhenItIsTakenOut) {
  const auto is_it = [](const CallShape& shape) { return shape.name == GetParam(); };
  std::vector<CallShape> fewer = WatchedCalls();
  const CallShape shape = *std::find_if(fewer.begin(), fewer.end(), is_it);
  ASSERT_EQ(std::erase_if(fewer, is_it), 1U);
  const auto* const whole = GroupThatMakes(shape);
  ASSERT_NE(whole, nullptr) << "no victim makes this call, so nobody would see that it is missing";
  const Record record = RunGroup(whole->first, fewer);
  EXPECT_TRUE(record.operations != whole->second.operations ||
              record.result.blind_spots != whole->second.result.blind_spots);
  EXPECT_FALSE(HasCall(record, GetParam()));
}

// All but sync(2), which is too slow a thing to ask of a machine that has just built something.
std::vector<std::string> CallsToTakeOut() {
  std::vector<std::string> names;
  for (const CallShape& shape : WatchedCalls()) {
    if (shape.number != SYS_sync) {
      names.emplace_back(shape.name);
    }
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Each, WatchedCallTest, ::testing::ValuesIn(CallsToTakeOut()),
                         [](const auto& test) { return test.param; });

TEST(WatchedSyncTest, IsSeenBeforeItIsMade) {
  const AttemptFolders folders;
  const auto supervisor = MakeSupervisor();
  TestInjector injector;
  injector.on_operation = [](const Operation& operation) {
    return operation.call == "sync" ? Action::KillAllRanks() : Action::Continue();
  };
  AttemptSpec spec = folders.Spec("every_operation", {"sync"});
  spec.injectors = {&injector};
  EXPECT_EQ(MustRun(*supervisor, spec).end, AttemptEnd::kFault);
}

TEST(WatchedKindTest, EachThatChangesContentOrNamesIsNeededForThePrediction) {
  constexpr OperationKind kKinds[] = {
      OperationKind::kOpen,         OperationKind::kWrite,    OperationKind::kTruncate,
      OperationKind::kAllocate,     OperationKind::kRename,   OperationKind::kLink,
      OperationKind::kSymlink,      OperationKind::kUnlink,   OperationKind::kMakeFolder,
      OperationKind::kRemoveFolder, OperationKind::kMapShared};
  for (const OperationKind kind : kKinds) {
    int wrong_count = 0;
    for (const auto& [group, record] : AllRecords()) {
      std::vector<Operation> operations = OperationsOf(record.result);
      std::erase_if(operations, [&](const Operation& one) { return one.kind == kind; });
      wrong_count += Contradictions(operations, record.found).empty() ? 0 : 1;
    }
    EXPECT_GT(wrong_count, 0) << ToText(kind);
  }
}

TEST(BlindSpotTest, WhatChangesTheViewOfAProcessIsTold) {
  const Record record = RunGroup(kTold);
  EXPECT_EQ(record.result.ranks[0].status, 0);
  for (const CallShape& shape : WatchedCalls()) {
    EXPECT_TRUE(shape.role != CallRole::kTold || HasCall(record, shape.name)) << shape.name;
  }
  EXPECT_THAT(record.result.blind_spots,
              Contains(HasSubstr("called unshare: paths are resolved as from outside")));
}

TEST(BlindSpotTest, CallsOfOtherCodeAreDeniedAndTold) {
  const AttemptFolders folders;
  const auto supervisor = MakeSupervisor();
  const Record record = RecordOf(*supervisor, folders, folders.Spec("foreign_calls"), "OTHER");
  if (record.result.ranks[0].status == kNotHere) {
    GTEST_SKIP() << "this kernel has no 32-bit calls";
  }
  EXPECT_EQ(Joined(record.operations), "mkdir(mkdir) usual\n");  // and of a static program
  EXPECT_EQ(Joined(record.result.blind_spots),
            "information: rank 0 was denied calls of 32-bit or x32 code, which cannot be followed "
            "(2 times)\n");
  EXPECT_THAT(record.ContradictionsWithDisk(), IsEmpty());
}

// A whole program: exit(0), and hlt, which is a fault, should that come back.
std::string Program32() {
  constexpr std::string_view kCode("\xb8\1\0\0\0\x31\xdb\xcd\x80\xf4", 10);
  constexpr Elf32_Addr kBase = 0x8048000;
  struct Image {
    Elf32_Ehdr header;
    Elf32_Phdr segment;
  } image = {};
  std::memcpy(image.header.e_ident, ELFMAG, SELFMAG);
  image.header.e_ident[EI_CLASS] = ELFCLASS32;
  image.header.e_ident[EI_DATA] = ELFDATA2LSB;
  image.header.e_ident[EI_VERSION] = EV_CURRENT;
  image.header.e_type = ET_EXEC;
  image.header.e_machine = EM_386;
  image.header.e_version = EV_CURRENT;
  image.header.e_entry = kBase + sizeof(Image);
  image.header.e_phoff = offsetof(Image, segment);
  image.header.e_ehsize = sizeof(Elf32_Ehdr);
  image.header.e_phentsize = sizeof(Elf32_Phdr);
  image.header.e_phnum = 1;
  image.segment.p_type = PT_LOAD;
  image.segment.p_vaddr = kBase;
  image.segment.p_filesz = sizeof(Image) + kCode.size();
  image.segment.p_memsz = image.segment.p_filesz;
  image.segment.p_flags = PF_R | PF_X;
  image.segment.p_align = 4096;
  return std::string(reinterpret_cast<const char*>(&image), sizeof(image)) + std::string(kCode);
}

TEST(BlindSpotTest, A32BitProgramEndsWithAReason) {
  const AttemptFolders folders;
  const auto program = folders.Other() / "program";
  ASSERT_TRUE(WriteFileAtomically(program, Program32()));
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  AttemptSpec spec = folders.Spec("ends");
  spec.commands[0] = {program.string()};
  const auto supervisor = MakeSupervisor();
  const auto result = supervisor->Run(spec);
  if (!result) {  // a kernel without 32-bit programs
    EXPECT_THAT(result.error().ToString(), HasSubstr("Exec format error"));
    return;
  }
  EXPECT_EQ(result->ranks[0].end, RankEnd::kSignalled);
  EXPECT_THAT(Joined(result->blind_spots), HasSubstr("denied calls of 32-bit or x32 code"));
}

// Nothing stops at the receiving of a descriptor: that is how the messages of ranks arrive too.
TEST(BlindSpotTest, AWriteThroughADescriptorFromASocketShowsAsAContradiction) {
  const AttemptFolders folders;
  const auto supervisor = MakeSupervisor();
  const Record record = RecordOf(*supervisor, folders, folders.Spec("starts", {"socket"}), "OTHER");
  EXPECT_EQ(Joined(record.operations), "open(openat) file creates truncates\n");
  EXPECT_THAT(Joined(record.ContradictionsWithDisk()), HasSubstr("file: 0 bytes here, 6 there"));
}

// In the checkpoint folder; "$0" is a folder beside it, on `other_base` if that is not null.
Record RunShell(const std::string& script, const char* other_base = kDisk) {
  const AttemptFolders folders;
  const AttemptFolders elsewhere =
      other_base == nullptr ? AttemptFolders() : AttemptFolders(other_base);
  AttemptSpec spec = folders.Spec("ends");
  spec.commands[0] = {"/bin/sh", "-ec", script, elsewhere.Other().string()};
  spec.working_folder = folders.Checkpoint();
  const auto supervisor = MakeSupervisor();
  Record record = RecordOf(*supervisor, folders, spec, elsewhere.Other().string());
  EXPECT_EQ(record.result.ranks[0].status, 0) << Joined(record.operations);
  EXPECT_THAT(record.result.blind_spots, IsEmpty());
  EXPECT_THAT(record.ContradictionsWithDisk(), IsEmpty());
  return record;
}

TEST(ShellTest, RedirectionsOfAllKindsAreSeen) {
  const Record record = RunShell(
      "echo x > f; echo y >> f; cat f >> g; exec 5> h; echo five >&5; (echo six; echo seven >&5) > "
      "i; exec 1> j 6>&1; echo eight >&6; cat < f > k; echo nine | tee l >> m");
  for (const char* line : {"write(write) f 0+2 \"x\n\"", "write(write) f 2+2 \"y\n\"",
                           "write(write) h 0+5 \"five\n\"", "write(write) i 0+4 \"six\n\"",
                           "write(write) h 5+6 \"seven\n\"", "write(write) j 0+6 \"eight\n\"",
                           "write(write) l 0+5 \"nine\n\"", "write(write) m 0+5 \"nine\n\""}) {
    EXPECT_THAT(record.operations, Contains(line));
  }
}

TEST(ShellTest, ToolsThatMoveAndCopyAreSeen) {
  const Record record = RunShell(
      "echo far > \"$0/far\"; mv \"$0/far\" far; mkdir \"$0/d\"; echo in > \"$0/d/in\"; mv "
      "\"$0/d\" "
      "d; cp far copy; ln copy hard; ln -s copy soft; mv copy moved; truncate -s 2 moved; rm soft; "
      "cp -r d e; rm -r d; dd if=far of=e/part bs=2 seek=3 count=1 2> /dev/null; sync far");
  EXPECT_THAT(Joined(record.operations), HasSubstr("OTHER/far -> far"));
}

TEST(ShellTest, OtherNamesOfTheFoldersFilesAreSeen) {
  const Record record = RunShell(
      "mkdir d; echo one > d/f; ln d/f \"$0/f\"; echo two >> \"$0/f\"; mv d e; echo three >> "
      "\"$0/f\"",
      nullptr);
  EXPECT_THAT(record.operations, Contains("write(write) d/f 4+4 \"two\n\""));
  EXPECT_THAT(record.operations, Contains("write(write) e/f 8+6 \"three\n\""));
}

TEST(ShellTest, OtherNamesThatWereThereBeforeAreSeen) {
  const AttemptFolders folders;
  ASSERT_TRUE(WriteFileAtomically(folders.Checkpoint() / "inside", "before"));
  std::filesystem::create_hard_link(folders.Checkpoint() / "inside", folders.Other() / "outside");
  AttemptSpec spec = folders.Spec("ends");
  spec.commands[0] = {"/bin/sh", "-c", "echo > \"$0/outside\"", folders.Other().string()};
  const auto supervisor = MakeSupervisor();
  const Record record = RecordOf(*supervisor, folders, spec, "OTHER");
  EXPECT_EQ(Joined(record.operations),
            "open(openat) inside truncates\nwrite(write) inside 0+1 \"\n\"\n");
}

TEST(BlindSpotTest, AFileThatAnotherProcessHasOpenWhenItIsMovedInIsTold) {
  const AttemptFolders folders;
  AttemptSpec spec = folders.Spec("ends");
  spec.commands[0] = {"/bin/sh", "-c", "exec 5> \"$0/x\"; mv \"$0/x\" x; exec 5>&-",
                      folders.Other().string()};
  spec.working_folder = folders.Checkpoint();
  const auto supervisor = MakeSupervisor();
  EXPECT_THAT(Joined(MustRun(*supervisor, spec).blind_spots),
              HasSubstr("while another process had it open for writing"));
}

TEST(ThreadsTest, ABufferThatChangesWhileItIsWrittenIsRecordedAsTheFileHasIt) {
  const AttemptFolders folders;
  const auto supervisor = MakeSupervisor();
  const Record record =
      RecordOf(*supervisor, folders, folders.Spec("threads_write", {"changing"}), "OTHER");
  EXPECT_EQ(record.operations.size(), 9U);
  EXPECT_THAT(record.ContradictionsWithDisk(), IsEmpty());
}

TEST(DaemonTest, IsRecordedAfterItsRankHasEndedAndKilledWithTheLast) {
  const AttemptFolders folders;
  const auto supervisor = MakeSupervisor();
  const Record record = RecordOf(*supervisor, folders, folders.Spec("writes_on", {}, 2), "OTHER");
  EXPECT_EQ(record.result.end, AttemptEnd::kAllExited);
  EXPECT_THAT(record.operations, Contains("open(openat) daemon creates"));
  int after_exit_count = 0;  // after the last thing that rank 0 itself did
  for (const Operation& operation : OperationsOf(record.result)) {
    after_exit_count = operation.path == "rank 0" ? 0 : after_exit_count + 1;
  }
  EXPECT_GE(after_exit_count, 5);
  EXPECT_THAT(record.ContradictionsWithDisk(), IsEmpty());
  EXPECT_EQ(Joined(Contradictions(OperationsOf(record.result), Found(folders))), "");  // still
}

TEST(RangesTest, FormsOfFallocateThatMoveDataArePredicted) {
  const Record record = RunGroup(kRanges);
  EXPECT_EQ(record.result.ranks[0].status, 0);
  EXPECT_EQ(std::count_if(record.operations.begin(), record.operations.end(),
                          [](const std::string& line) { return line.starts_with("allocate"); }),
            4);
  EXPECT_THAT(record.ContradictionsWithDisk(), IsEmpty());
}

// As strace -f does with us.
void TraceAsOthersDo(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  ptrace(PTRACE_SETOPTIONS, pid, nullptr, PTRACE_O_TRACEFORK | PTRACE_O_EXITKILL);
  ptrace(PTRACE_CONT, pid, nullptr, nullptr);
  for (int i = 0; i < 10'000; ++i) {
    const pid_t stopped = waitpid(-1, &status, __WALL);
    if (stopped == pid && !WIFSTOPPED(status)) {
      return;
    }
    ptrace(PTRACE_CONT, stopped, nullptr, nullptr);
  }
  kill(pid, SIGKILL);
}

TEST(TracedTest, AHarnessThatIsTracedItselfSaysSo) {
  const AttemptFolders folders;
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);
    const auto result = MakeSupervisor()->Run(folders.Spec("ends", {"0"}));
    const std::string text = result ? "it ran" : result.error().ToString();
    _exit(write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(ends[1]);
  TraceAsOthersDo(child);
  char text[512] = {};
  EXPECT_GT(read(ends[0], text, sizeof(text) - 1), 0);
  close(ends[0]);
  EXPECT_THAT(std::string(text), HasSubstr("reprise itself is traced"));
}

}  // namespace
}  // namespace reprise
