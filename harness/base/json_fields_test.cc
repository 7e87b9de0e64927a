#include "harness/base/json_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace reprise {
namespace {

using ::testing::HasSubstr;

TEST(JsonFieldsTest, ReadsTypedFieldsAndDefaults) {
  const Json json = *ParseJson(R"({"name": "a", "rank": 2, "list": ["x", "y"]})", "f.json");
  JsonFields fields(json, "f.json");
  EXPECT_EQ(fields.RequiredString("name"), "a");
  EXPECT_EQ(fields.RequiredInteger("rank", 0, 3), 2);
  EXPECT_EQ(fields.OptionalInteger("world", 4, 1, 8), 4);
  EXPECT_THAT(fields.OptionalStrings("list"), ::testing::ElementsAre("x", "y"));
  EXPECT_TRUE(fields.Finish());
}

TEST(JsonFieldsTest, UnknownFieldNamesTheNearestKnownOne) {
  const Json json = *ParseJson(R"({"sede": 3})", "f.json");
  JsonFields fields(json, "f.json");
  fields.OptionalInteger("seed", 1, 0, 9);
  const Status status = fields.Finish();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().where, "f.json: sede");
  EXPECT_THAT(status.error().message, HasSubstr("did you mean \"seed\""));
  EXPECT_TRUE(fields.FinishAllowingUnknown());
}

TEST(JsonFieldsTest, WrongTypeAndRangeSayWhatWouldBeRight) {
  const Json json = *ParseJson(R"({"a": {"rank": 7}})", "f.json");
  JsonFields fields(json["a"], "f.json: a");
  fields.RequiredInteger("rank", 0, 3);
  const Status status = fields.Finish();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().ToString(),
            "f.json: a.rank: expected an integer from 0 to 3, found the integer 7");
}

TEST(JsonFieldsTest, AMisspeltRequiredFieldIsNamedAsItWasSpelt) {
  const Json json = *ParseJson(R"({"stpe": 3})", "f.json");
  JsonFields fields(json, "f.json");
  fields.RequiredInteger("step", 0, 9);
  EXPECT_EQ(fields.Finish().error().where, "f.json: stpe");
  EXPECT_EQ(fields.FinishAllowingUnknown().error().where, "f.json: step");
}

TEST(JsonFieldsTest, HugeIntegersAreRefusedNotWrapped) {
  const Json json = *ParseJson(R"({"rank": 18446744073709551615})", "f.json");
  JsonFields fields(json, "f.json");
  fields.RequiredInteger("rank", -5, 3);
  EXPECT_FALSE(fields.Finish());
}

TEST(ParseJsonTest, RefusesDuplicateKeysDeepNestingAndGarbageWithPlace) {
  EXPECT_THAT(ParseJson(R"({"a":1,"a":2})", "f").error().message, HasSubstr("\"a\" occurs twice"));
  EXPECT_THAT(ParseJson(std::string(100000, '['), "f").error().message, HasSubstr("nested deeper"));
  EXPECT_THAT(ParseJson("{\n  nope", "f").error().message, HasSubstr("line 2, column"));
  EXPECT_THAT(ParseJson("{\"a\":1,\n \"a\":2}", "f").error().message,
              HasSubstr("line 2, column 4"));
  EXPECT_THAT(ParseJson("[1,\n1e999]", "f").error().message, HasSubstr("line 2, column 6"));
  EXPECT_FALSE(ParseJson("", "f"));
  EXPECT_FALSE(ParseJson("{} {}", "f"));
}

TEST(ParseJsonTest, ErrorsStayShortWhateverTheTextIs) {
  const std::string huge(std::size_t{1} << 20, 'x');
  EXPECT_LT(ParseJson("\"" + huge, "f").error().message.size(), 1000U);
  EXPECT_LT(ParseJson("{\"" + huge + "\":1,\"" + huge + "\":2}", "f").error().message.size(),
            1000U);
  const Json json = {{"a", huge}, {huge, 1}};
  JsonFields fields(json, "f");
  EXPECT_EQ(fields.OptionalInteger("a", 7, 0, 9), 7);
  EXPECT_LT(fields.Finish().error().ToString().size(), 1000U);
  JsonFields unknown(json, "f");
  unknown.OptionalString("a", "");
  EXPECT_LT(unknown.Finish().error().ToString().size(), 1000U);
}

TEST(ExcerptTest, CutsBetweenCharactersAndSaysTheSize) {
  EXPECT_EQ(Excerpt("abc", 3), "abc");
  EXPECT_EQ(Excerpt("a\u00e4b", 2), "a… (4 bytes)");
}

}  // namespace
}  // namespace reprise
