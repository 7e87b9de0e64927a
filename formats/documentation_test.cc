// docs/checkpoint-format.md shows the real bytes of a small checkpoint.

#include <gtest/gtest.h>

#include "formats/format_testing.h"
#include "harness/base/files.h"

namespace reprise {
namespace {

testing::State ExampleState() {
  const std::string weights("\x00\x00\x80\x3F\x00\x00\x00\x40\x00\x00\x40\x40", 12);
  return {{"weight/bias", {.dtype = DType::kF32, .shape = {3}, .data = weights}},
          {"rng/torch", {.dtype = DType::kU8, .shape = {1}, .data = "\x07"}}};
}

TEST(CheckpointFormatDocumentationTest, TheWorkedExampleIsWhatIsWritten) {
  const testing::TemporaryFolder folder;
  const auto format = FindFormat("sharded-safetensors")->make();
  const auto written =
      testing::WriteShards(*format, folder.Path(), ExampleState(), 20, 2, testing::SplitRows);
  ASSERT_TRUE(written);
  ASSERT_TRUE(format->Publish(folder.Path(), {.step = 20, .rank = 0, .world = 2}, *written,
                              {{"data.position", "12"}, {"scheduler.step", "20"}}));
  const auto document =
      ReadFile(std::filesystem::path(REPRISE_SOURCE_DIR) / "docs/checkpoint-format.md", 1 << 20);
  ASSERT_TRUE(document) << document.error().ToString();
  for (const auto& [path, content] : testing::FilesIn(folder.Path())) {
    // Of a shard, the JSON of its header.
    const std::size_t end = content.rfind("}}");
    const std::string shown =
        path.ends_with(".safetensors") ? content.substr(8, end + 2 - 8) : content;
    EXPECT_NE(document->find(shown), std::string::npos)
        << "the document lacks the content of " << path << ":\n"
        << shown;
  }
}

}  // namespace
}  // namespace reprise
