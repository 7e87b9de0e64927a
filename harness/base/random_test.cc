#include "harness/base/random.h"

#include <gtest/gtest.h>

#include <set>

namespace reprise {
namespace {

TEST(RandomTest, FirstValuesArePinnedBecausePlansDependOnThem) {
  Random random(1);
  EXPECT_EQ(random.Next(), 0x910A2DEC89025CC1ULL);
  EXPECT_EQ(random.Next(), 0xBEEB8DA1658EEC67ULL);
}

TEST(RandomTest, SplitDependsOnPurposeAndLeavesTheParentUntouched) {
  Random a(7);
  const Random b = a;
  EXPECT_NE(a.Split("x").Next(), a.Split("y").Next());
  EXPECT_EQ(a.Split("x").Next(), b.Split("x").Next());
}

TEST(RandomTest, BelowReachesEveryValueAndNeverTheBound) {
  Random random(3);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 200; ++i) {
    seen.insert(random.Below(5));
  }
  EXPECT_EQ(seen, (std::set<std::uint64_t>{0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace reprise
