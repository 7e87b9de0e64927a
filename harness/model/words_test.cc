#include <gtest/gtest.h>

#include "harness/model/float_bits.h"
#include "harness/model/layout.h"
#include "harness/model/operation.h"
#include "harness/model/outcome.h"
#include "harness/model/tensor.h"

namespace reprise {
namespace {

template <typename E, typename Parse>
void ExpectRoundTrip(int count, Parse parse) {
  for (int i = 0; i < count; ++i) {
    const E value = static_cast<E>(i);
    EXPECT_EQ(parse(ToText(value)), value) << i;
  }
}

TEST(WordsTest, EveryEnumerationRoundTripsThroughItsText) {
  ExpectRoundTrip<OperationKind>(14, ParseOperationKind);
  ExpectRoundTrip<RegionKind>(6, ParseRegionKind);
  ExpectRoundTrip<Verdict>(17, ParseVerdict);
  ExpectRoundTrip<Layer>(7, ParseLayer);
  ExpectRoundTrip<DType>(13, ParseDType);
}

TEST(WordsTest, FindingsAreTheVerdictsBetweenLostProgressAndHung) {
  int findings = 0;
  for (const Verdict verdict : AllVerdicts()) {
    findings += IsFinding(verdict) ? 1 : 0;
    EXPECT_FALSE(IsFinding(verdict) && ProvedNothing(verdict));
  }
  EXPECT_EQ(findings, 9);
  EXPECT_FALSE(IsFinding(Verdict::kExactFallback));
  EXPECT_FALSE(IsFinding(Verdict::kHarnessError));
}

TEST(OperationAddressTest, ParsesItsTextAndRefusesOthers) {
  EXPECT_EQ(*OperationAddress::Parse("1/0/12"), (OperationAddress{1, 0, 12}));
  for (const char* bad : {"", "1/2", "1/2/", "1/2/3/4", "-1/0/0", "a/b/c", "1/2/3 "}) {
    EXPECT_FALSE(OperationAddress::Parse(bad)) << bad;
  }
}

TEST(FloatBitsTest, KeepsEveryBit) {
  EXPECT_EQ(FloatBits::Of(1.0F).ToText(), "f32:3f800000");
  EXPECT_EQ(FloatBits::Of(-0.0).ToText(), "f64:8000000000000000");
  EXPECT_EQ(FloatBits::Parse("f32:3f800000")->ToDouble(), 1.0);
  EXPECT_FALSE(FloatBits::Parse("f32:3f80000"));
  EXPECT_FALSE(FloatBits::Parse("1.0"));
}

TEST(SliceTest, IntersectionAndBounds) {
  EXPECT_EQ(Intersect({{0, 0}, {3, 4}}, {{2, 1}, {5, 2}}), (Slice{{2, 1}, {1, 2}}));
  EXPECT_FALSE(Intersect({{0}, {3}}, {{3}, {1}}));
  EXPECT_TRUE(LiesInside({{2}, {1}}, {3}));
  EXPECT_FALSE(LiesInside({{3}, {1}}, {3}));
  EXPECT_FALSE(LiesInside({{INT64_MAX}, {1}}, {3}));
  EXPECT_FALSE(ElementCount({INT64_MAX, 2}));
  EXPECT_EQ(ElementCount({}), 1);
}

}  // namespace
}  // namespace reprise
