#include "harness/base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace reprise {
namespace {

namespace fs = std::filesystem;

class FilesTest : public ::testing::Test {
 protected:
  FilesTest() : folder_(fs::temp_directory_path() / ("reprise_files_" + std::to_string(getpid()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~FilesTest() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_F(FilesTest, ReadReturnsWhatWasWritten) {
  ASSERT_TRUE(WriteFileAtomically(folder_ / "a", "content"));
  EXPECT_EQ(*ReadFile(folder_ / "a", 100), "content");
  EXPECT_EQ(*ReadFileRange(folder_ / "a", 3, 2), "te");
}

TEST_F(FilesTest, ReadRefusesMoreThanTheBoundMissingFilesAndFifos) {
  ASSERT_TRUE(WriteFileAtomically(folder_ / "a", "content"));
  EXPECT_EQ(ReadFile(folder_ / "a", 3).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(ReadFile(folder_ / "none", 3).error().code, ErrorCode::kNotFound);
  ASSERT_EQ(mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(ReadFile(folder_ / "fifo", 3).error().code, ErrorCode::kCorrupt);
}

TEST_F(FilesTest, RangeBeyondTheEndNamesTheFileAndItsSize) {
  ASSERT_TRUE(WriteFileAtomically(folder_ / "a", "content"));
  const auto range = ReadFileRange(folder_ / "a", 5, UINT64_MAX);
  ASSERT_FALSE(range);
  EXPECT_EQ(range.error().where, (folder_ / "a").string());
  EXPECT_NE(range.error().message.find("7 bytes"), std::string::npos);
}

TEST_F(FilesTest, CopyTreeKeepsLinksAndRefusesAnExistingDestination) {
  ASSERT_TRUE(MakeFolders(folder_ / "from/sub"));
  ASSERT_TRUE(WriteFileAtomically(folder_ / "from/sub/a", "x"));
  fs::create_symlink("sub", folder_ / "from/link");
  ASSERT_TRUE(CopyTree(folder_ / "from", folder_ / "to"));
  EXPECT_EQ(*ReadFile(folder_ / "to/sub/a", 10), "x");
  EXPECT_TRUE(fs::is_symlink(folder_ / "to/link"));
  EXPECT_FALSE(CopyTree(folder_ / "from", folder_ / "to"));
}

TEST_F(FilesTest, RemoveTreeAlsoRemovesFoldersWithoutPermission) {
  ASSERT_TRUE(MakeFolders(folder_ / "tree/locked"));
  ASSERT_TRUE(WriteFileAtomically(folder_ / "tree/locked/a", "x"));
  fs::permissions(folder_ / "tree/locked", fs::perms::none);
  EXPECT_TRUE(RemoveTree(folder_ / "tree"));
  EXPECT_FALSE(fs::exists(folder_ / "tree"));
  EXPECT_TRUE(RemoveTree(folder_ / "tree"));
}

}  // namespace
}  // namespace reprise
