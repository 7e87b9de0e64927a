// Laws of the digest. Each is checked on every path that this CPU has.

#include "probes/c/digest.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "probes/c/digest_kernels.h"

// In the namespace of its type, where RapidCheck looks for it.
static bool operator==(const reprise_digest_sum& x, const reprise_digest_sum& y) {
  return x.a == y.a && x.b == y.b;
}

namespace reprise {
namespace {

using Bytes = std::vector<std::uint8_t>;
using Sizes = std::vector<std::int64_t>;

std::vector<reprise_digest_path> Paths() {
  std::vector<reprise_digest_path> paths;
  const reprise_digest_path before = reprise_digest_current_path();
  for (const auto path : {REPRISE_DIGEST_SCALAR, REPRISE_DIGEST_AVX2, REPRISE_DIGEST_AVX512}) {
    if (reprise_digest_set_path(path) == 0) {
      paths.push_back(path);
    }
  }
  reprise_digest_set_path(before);
  return paths;
}

// Forces a path for a scope.
class WithPath {
 public:
  explicit WithPath(reprise_digest_path path) : before_(reprise_digest_current_path()) {
    reprise_digest_set_path(path);
  }
  ~WithPath() { reprise_digest_set_path(before_); }
  WithPath(const WithPath&) = delete;
  WithPath& operator=(const WithPath&) = delete;

 private:
  reprise_digest_path before_;
};

reprise_digest_sum Range(const Bytes& data, std::size_t element_size = 1, std::uint64_t first = 0) {
  reprise_digest_sum sum = {};
  reprise_digest_range(&sum, data.data(), element_size, first, data.size() / element_size);
  return sum;
}

// The definition of docs/logbook.md, word for word, with nothing shared with the library.
reprise_digest_sum ByDefinition(const Bytes& data, std::uint64_t first_byte) {
  const auto split_mix = [](std::uint64_t seed, std::uint64_t n) {  // n-th output, from 1
    std::uint64_t x = seed + n * 0x9E3779B97F4A7C15ULL;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
  };
  reprise_digest_sum sum = {};
  for (std::size_t n = 0; n < data.size(); ++n) {
    const std::uint64_t p = first_byte + n;
    const std::uint64_t value = static_cast<std::uint64_t>(data[n]) << (8 * (p % 4));
    const std::uint64_t key = split_mix(1, p / 4 % 64 + 1);
    const std::uint64_t block = p / 256;
    sum.a += value * ((key & 0xFFFFFFFFU) | 1) * (split_mix(0, 2 * block + 1) | 1);
    sum.b += value * ((key >> 32) | 1) * (split_mix(0, 2 * block + 2) | 1);
  }
  return sum;
}

Bytes ArbitraryBytes(std::size_t most) {
  const auto size = *rc::gen::inRange<std::size_t>(0, most);
  return *rc::gen::container<Bytes>(size, rc::gen::arbitrary<std::uint8_t>());
}

std::size_t ArbitraryElementSize() { return *rc::gen::element<std::size_t>(1, 2, 4, 8); }

TEST(DigestTest, KeysAreOddAndDistinctSoThatEqualChangesOfTwoWordsNeverCancel) {
  for (const std::uint32_t* keys : {reprise_digest_keys_a, reprise_digest_keys_b}) {
    std::set<std::uint64_t> values;
    for (std::size_t l = 0; l < REPRISE_DIGEST_BLOCK_WORDS; ++l) {
      EXPECT_EQ(keys[l] % 2, 1U);
      values.insert(keys[l]);
    }
    EXPECT_EQ(values.size(), std::size_t{REPRISE_DIGEST_BLOCK_WORDS});
  }
}

TEST(DigestTest, ZeroesGiveZeroAndTheFinalDigestStillTellsShapesApart) {
  const reprise_digest_sum sum = Range(Bytes(1000, 0));
  EXPECT_EQ(sum, reprise_digest_sum{});
  char one[REPRISE_DIGEST_HEX_SIZE];
  char two[REPRISE_DIGEST_HEX_SIZE];
  const Sizes shape = {250};
  const Sizes square = {25, 10};
  reprise_digest_final(&sum, "F32", 1, shape.data(), one);
  reprise_digest_final(&sum, "F32", 2, square.data(), two);
  EXPECT_STRNE(one, two);
  reprise_digest_final(&sum, "I32", 1, shape.data(), two);
  EXPECT_STRNE(one, two);
  EXPECT_EQ(std::strlen(one), 32U);
}

TEST(DigestTest, UnsoundBoxesAreRefusedAndLeaveTheSumAlone) {
  const Bytes data(64, 1);
  const auto refused = [&](std::size_t element_size, const Sizes& shape, const Sizes& offsets,
                           const Sizes& extents, const void* at) {
    reprise_digest_sum sum = {1, 2};
    const int result = reprise_digest_box(&sum, at, element_size, shape.size(), shape.data(),
                                          offsets.data(), extents.data());
    return result == -1 && sum == reprise_digest_sum{1, 2};
  };
  EXPECT_FALSE(refused(4, {4}, {0}, {4}, data.data()));
  EXPECT_TRUE(refused(3, {4}, {0}, {4}, data.data()));
  EXPECT_TRUE(refused(0, {4}, {0}, {4}, data.data()));
  EXPECT_TRUE(refused(4, {4}, {1}, {4}, data.data()));
  EXPECT_TRUE(refused(4, {4}, {-1}, {2}, data.data()));
  EXPECT_TRUE(refused(4, {4}, {0}, {-1}, data.data()));
  EXPECT_TRUE(refused(4, {-4}, {0}, {0}, data.data()));
  EXPECT_TRUE(refused(4, {4}, {INT64_MAX}, {1}, data.data()));
  EXPECT_TRUE(refused(4, {INT64_MAX, 2}, {0, 0}, {1, 1}, data.data()));
  EXPECT_TRUE(refused(1, Sizes(33, 1), Sizes(33, 0), Sizes(33, 1), data.data()));
  EXPECT_TRUE(refused(4, {4}, {0}, {4}, nullptr));
  EXPECT_FALSE(refused(4, {4, 0}, {0, 0}, {4, 0}, nullptr));
  EXPECT_FALSE(refused(4, {}, {}, {}, data.data()));
}

TEST(DigestTest, TheScalarPathIsAlwaysThereAndCanBeForced) {
  EXPECT_EQ(Paths().front(), REPRISE_DIGEST_SCALAR);
  const WithPath scalar(REPRISE_DIGEST_SCALAR);
  EXPECT_STREQ(reprise_digest_path_name(reprise_digest_current_path()), "scalar");
}

RC_GTEST_PROP(DigestProperties, EveryPathEqualsTheDefinitionAtEveryOffset, ()) {
  const Bytes data = ArbitraryBytes(1500);
  const auto first = *rc::gen::inRange<std::uint64_t>(0, 1ULL << 40);
  const reprise_digest_sum expected = ByDefinition(data, first);
  for (const reprise_digest_path path : Paths()) {
    const WithPath with(path);
    RC_ASSERT(Range(data, 1, first) == expected);
  }
}

RC_GTEST_PROP(DigestProperties, AnySplitIntoRangesAddsUpInAnyOrder, ()) {
  const std::size_t size = ArbitraryElementSize();
  Bytes data = ArbitraryBytes(2000);
  data.resize(data.size() / size * size);
  const std::size_t count = data.size() / size;
  std::set<std::size_t> cuts = {0, count};
  for (const auto cut : *rc::gen::container<std::vector<std::size_t>>(
           5, rc::gen::inRange<std::size_t>(0, count + 1))) {
    cuts.insert(cut);
  }
  const std::vector<std::size_t> ends(cuts.begin(), cuts.end());
  reprise_digest_sum sum = {};
  for (std::size_t n = ends.size() - 1; n > 0; --n) {  // from the last part to the first
    reprise_digest_range(&sum, data.data() + ends[n - 1] * size, size, ends[n - 1],
                         ends[n] - ends[n - 1]);
  }
  RC_ASSERT(sum == Range(data, size));
}

RC_GTEST_PROP(DigestProperties, EverySingleBitChangeIsSeenInEachLane, ()) {
  Bytes data = ArbitraryBytes(1500);
  RC_PRE(!data.empty());
  const reprise_digest_sum before = Range(data);
  const auto at = *rc::gen::inRange<std::size_t>(0, data.size());
  const auto bit = *rc::gen::inRange(0, 8);
  data[at] = static_cast<std::uint8_t>(data[at] ^ (1 << bit));
  const reprise_digest_sum after = Range(data);
  RC_ASSERT(before.a != after.a);
  RC_ASSERT(before.b != after.b);
}

RC_GTEST_PROP(DigestProperties, SwappedDifferentElementsAreSeenInEachLane, ()) {
  const std::size_t size = ArbitraryElementSize();
  Bytes data = ArbitraryBytes(1500);
  data.resize(data.size() / size * size);
  const std::size_t count = data.size() / size;
  RC_PRE(count >= 2U);
  const auto i = *rc::gen::inRange<std::size_t>(0, count - 1);
  const auto j = *rc::gen::oneOf(rc::gen::just(i + 1), rc::gen::inRange<std::size_t>(i + 1, count));
  const auto one = data.begin() + static_cast<std::ptrdiff_t>(i * size);
  const auto two = data.begin() + static_cast<std::ptrdiff_t>(j * size);
  const auto width = static_cast<std::ptrdiff_t>(size);
  RC_PRE(!std::equal(one, one + width, two));
  const reprise_digest_sum before = Range(data, size);
  std::swap_ranges(one, one + width, two);
  const reprise_digest_sum after = Range(data, size);
  RC_ASSERT(before.a != after.a);
  RC_ASSERT(before.b != after.b);
}

RC_GTEST_PROP(DigestProperties, TheSameDataAtAnotherOffsetHasAnotherDigest, ()) {
  const Bytes data = ArbitraryBytes(600);
  const auto shift = *rc::gen::inRange<std::uint64_t>(1, 5000);
  const auto whole_words = static_cast<std::ptrdiff_t>(data.size() / 4 * 4);
  const bool has_whole_word =
      std::any_of(data.begin(), data.begin() + whole_words, [](std::uint8_t b) { return b != 0; });
  RC_PRE(has_whole_word);
  const reprise_digest_sum here = Range(data, 4);
  const reprise_digest_sum there = Range(data, 4, shift);
  RC_ASSERT(here.a != there.a || here.b != there.b);
}

// A tensor cut by a random grid into boxes, each copied out as a rank would hold it.
class Tensor {
 public:
  static Tensor Arbitrary() {
    Tensor tensor;
    tensor.size_ = ArbitraryElementSize();
    const auto dimensions = *rc::gen::inRange<std::size_t>(0, 5);
    std::size_t count = tensor.size_;
    for (std::size_t d = 0; d < dimensions; ++d) {
      tensor.shape_.push_back(*rc::gen::inRange<std::int64_t>(1, d + 1 == dimensions ? 90 : 7));
      count *= static_cast<std::size_t>(tensor.shape_.back());
    }
    tensor.data_ = Bytes(count);
    std::uint32_t state = *rc::gen::arbitrary<std::uint32_t>();
    for (std::uint8_t& byte : tensor.data_) {
      state = state * 1664525U + 1013904223U;
      byte = static_cast<std::uint8_t>(state >> 24 | 1);  // no row of zeroes
    }
    return tensor;
  }

  [[nodiscard]] reprise_digest_sum Whole() const { return Range(data_, size_); }
  [[nodiscard]] const Sizes& Shape() const { return shape_; }

  int Add(reprise_digest_sum* sum, const Sizes& offsets, const Sizes& extents) const {
    const Bytes part = Cut(offsets, extents);
    return reprise_digest_box(sum, part.data(), size_, shape_.size(), shape_.data(), offsets.data(),
                              extents.data());
  }

 private:
  [[nodiscard]] Bytes Cut(const Sizes& offsets, const Sizes& extents) const {
    Bytes part(1);  // never null
    part.clear();
    Sizes index(shape_.size(), 0);
    for (;;) {
      std::int64_t at = 0;
      for (std::size_t d = 0; d < shape_.size(); ++d) {
        at = at * shape_[d] + offsets[d] + index[d];
      }
      const auto begin = data_.begin() + at * static_cast<std::ptrdiff_t>(size_);
      part.insert(part.end(), begin, begin + static_cast<std::ptrdiff_t>(size_));
      std::size_t d = shape_.size();
      while (d > 0 && ++index[d - 1] == extents[d - 1]) {
        index[--d] = 0;
      }
      if (d == 0) {
        return part;
      }
    }
  }

  std::size_t size_ = 1;
  Sizes shape_;
  Bytes data_;
};

RC_GTEST_PROP(DigestProperties, AnyGridOfBoxesAddsUpToTheWholeOnEveryPath, ()) {
  const Tensor tensor = Tensor::Arbitrary();
  const std::size_t dimensions = tensor.Shape().size();
  Sizes cut(dimensions);
  for (std::size_t d = 0; d < dimensions; ++d) {
    cut[d] = *rc::gen::inRange<std::int64_t>(0, tensor.Shape()[d] + 1);
  }
  for (const reprise_digest_path path : Paths()) {
    const WithPath with(path);
    reprise_digest_sum sum = {};
    for (std::size_t corner = 0; corner < std::size_t{1} << dimensions; ++corner) {
      Sizes offsets(dimensions);
      Sizes extents(dimensions);
      bool empty = false;
      for (std::size_t d = 0; d < dimensions; ++d) {
        const bool upper = (corner >> d & 1) != 0;
        offsets[d] = upper ? cut[d] : 0;
        extents[d] = upper ? tensor.Shape()[d] - cut[d] : cut[d];
        empty = empty || extents[d] == 0;
      }
      if (!empty) {  // RC_ASSERT evaluates both sides of ||
        RC_ASSERT(tensor.Add(&sum, offsets, extents) == 0);
      }
    }
    RC_ASSERT(sum == tensor.Whole());
  }
}

RC_GTEST_PROP(DigestProperties, ABoxAtAWrongPlaceIsSeen, ()) {
  const Tensor tensor = Tensor::Arbitrary();
  Sizes extents = tensor.Shape();
  const bool has_two_rows = !extents.empty() && extents[0] >= 2;
  RC_PRE(has_two_rows);  // evaluates both sides of &&
  extents[0] = 1;
  Sizes offsets(extents.size(), 0);
  reprise_digest_sum right = {};
  RC_ASSERT(tensor.Add(&right, offsets, extents) == 0);
  offsets[0] = 1;
  reprise_digest_sum other_row = {};
  RC_ASSERT(tensor.Add(&other_row, offsets, extents) == 0);
  RC_ASSERT(!(right == other_row));
}

}  // namespace
}  // namespace reprise
