#include "harness/plan/draw.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace reprise {
namespace {

// How often each value of one property was drawn.
class Property {
 public:
  explicit Property(std::vector<int> values) : values_(std::move(values)) {
    for (const int value : values_) {
      drawn_[value] = 0;
    }
  }

  // Draws of this operation's value, in units of an even share.
  [[nodiscard]] std::int64_t Load(std::size_t operation) const {
    return drawn_.at(values_[operation]) * static_cast<std::int64_t>(drawn_.size());
  }
  void Count(std::size_t operation) { ++drawn_[values_[operation]]; }

 private:
  std::vector<int> values_;  // by operation
  std::map<int, std::int64_t> drawn_;
};

template <typename ValueOf>
Property PropertyOf(const std::vector<Operation>& operations, ValueOf value_of) {
  std::vector<int> values;
  values.reserve(operations.size());
  for (const Operation& operation : operations) {
    values.push_back(value_of(operation));
  }
  return Property(std::move(values));
}

std::vector<std::size_t> ShuffledIndices(std::size_t count, Random& random) {
  std::vector<std::size_t> indices(count);
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  for (std::size_t i = count; i > 1; --i) {
    std::swap(indices[i - 1], indices[random.Below(i)]);
  }
  return indices;
}

std::vector<Operation> InOrder(std::vector<Operation> operations) {
  std::sort(operations.begin(), operations.end(),
            [](const Operation& a, const Operation& b) { return a.address < b.address; });
  return operations;
}

}  // namespace

std::vector<std::int64_t> DrawEvenly(std::int64_t count, std::int64_t draw_count, Random random) {
  const std::int64_t bins = std::min(count, draw_count);
  std::vector<std::int64_t> drawn;
  for (std::int64_t bin = 0; bin < bins; ++bin) {
    const std::int64_t begin = count * bin / bins;
    const std::int64_t end = count * (bin + 1) / bins;
    drawn.push_back(
        begin + static_cast<std::int64_t>(random.Below(static_cast<std::uint64_t>(end - begin))));
  }
  return drawn;
}

std::vector<Operation> DrawOperations(const std::vector<Operation>& operations,
                                      std::int64_t draw_count, Random random) {
  if (draw_count >= static_cast<std::int64_t>(operations.size())) {
    return InOrder(operations);  // a long run has many, and drawing takes each look at each
  }
  Property properties[] = {
      PropertyOf(operations, [](const Operation& o) { return o.address.save; }),
      PropertyOf(operations, [](const Operation& o) { return o.address.rank; }),
      PropertyOf(operations, [](const Operation& o) { return static_cast<int>(o.kind); })};
  std::vector<std::size_t> left = ShuffledIndices(operations.size(), random);
  std::vector<Operation> drawn;
  while (!left.empty() && static_cast<std::int64_t>(drawn.size()) < draw_count) {
    const auto load = [&](std::size_t i) {
      return properties[0].Load(i) + properties[1].Load(i) + properties[2].Load(i);
    };
    const auto least = std::min_element(left.begin(), left.end(),
                                        [&](auto a, auto b) { return load(a) < load(b); });
    for (Property& property : properties) {
      property.Count(*least);
    }
    drawn.push_back(operations[*least]);
    left.erase(least);
  }
  return InOrder(std::move(drawn));
}

}  // namespace reprise
