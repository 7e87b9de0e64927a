#include "harness/plan/placeholders.h"

#include <gtest/gtest.h>

namespace reprise {
namespace {

std::string Replaced(const std::string& argument) {
  const Status status = CheckPlaceholders(argument);
  return status ? ReplacePlaceholders(argument, {{"ckpt", "C"},
                                                 {"rank", "0"},
                                                 {"world", "2"},
                                                 {"steps", "24"},
                                                 {"seed", "1"},
                                                 {"attempt", "0"},
                                                 {"device", "cpu"},
                                                 {"models", "M"}})
                : "error: " + status.error().message;
}

TEST(PlaceholdersTest, EveryNameIsReplacedWhereverItStands) {
  for (const std::string& name : PlaceholderNames()) {
    EXPECT_EQ(Replaced("{" + name + "}").find_first_of("{}"), std::string::npos) << name;
  }
  EXPECT_EQ(Replaced("--ckpt={ckpt}/{rank}-of-{world}"), "--ckpt=C/0-of-2");
  EXPECT_EQ(Replaced("{ckpt}{ckpt}"), "CC");
  EXPECT_EQ(Replaced(""), "");
}

TEST(PlaceholdersTest, AnUnknownNameIsRefusedWithTheNearestOne) {
  EXPECT_NE(Replaced("{checkpoint}").find("unknown placeholder {checkpoint}"), std::string::npos);
  EXPECT_NE(Replaced("a/{wrld}").find("did you mean \"world\"?"), std::string::npos);
  EXPECT_NE(Replaced("{foo}").find("{{foo}} stands for the text itself"), std::string::npos);
}

TEST(PlaceholdersTest, OtherBracesAreText) {
  EXPECT_EQ(Replaced("${ckpt} $HOME"), "${ckpt} $HOME");
  EXPECT_EQ(Replaced("{{ckpt}} and {{foo}}"), "{ckpt} and {foo}");
  EXPECT_EQ(Replaced("{}{ }{ckpt"), "{}{ }{ckpt");
  EXPECT_EQ(Replaced("{\"lr\": {\"a\": 1}}"), "{\"lr\": {\"a\": 1}}");
  EXPECT_EQ(Replaced("{ print $1 }{1,2}"), "{ print $1 }{1,2}");
  EXPECT_EQ(Replaced("{{{ckpt}}}"), "{{ckpt}}");
}

}  // namespace
}  // namespace reprise
