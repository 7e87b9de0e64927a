#include "harness/process/worker_pool.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <set>
#include <string>

namespace reprise {
namespace {

Work Squares() {
  return [](std::size_t index) { return std::to_string(index * index); };
}

TEST(WorkerPoolTest, EveryPieceIsDeliveredOnceAlsoWithMoreWorkersThanPieces) {
  for (const int jobs : {1, 3, 50}) {
    std::multiset<std::string> results;
    ASSERT_TRUE(RunInWorkers(10, jobs, Squares, [&](std::size_t index, Result<std::string> text) {
      EXPECT_EQ(*text, std::to_string(index * index));
      results.insert(*text);
      return true;
    }));
    EXPECT_EQ(results.size(), 10U);
  }
  EXPECT_TRUE(RunInWorkers(0, 2, Squares, [](std::size_t, const Result<std::string>&) {
    ADD_FAILURE();
    return true;
  }));
}

TEST(WorkerPoolTest, LargeResultsArriveWhole) {
  const auto make = [] { return [](std::size_t) { return std::string(5'000'000, 'x'); }; };
  ASSERT_TRUE(RunInWorkers(3, 2, make, [](std::size_t, const Result<std::string>& text) {
    EXPECT_EQ(text->size(), 5'000'000U);
    return true;
  }));
}

TEST(WorkerPoolTest, AWorkerThatDiesCostsOnlyItsPiece) {
  const auto make = [] {
    return [](std::size_t index) {
      if (index == 2) {
        kill(getpid(), SIGKILL);
      }
      return std::to_string(index);
    };
  };
  int died = 0;
  int done = 0;
  ASSERT_TRUE(RunInWorkers(6, 2, make, [&](std::size_t index, const Result<std::string>& text) {
    ++(text ? done : died);
    EXPECT_EQ(text.has_value(), index != 2);
    return true;
  }));
  EXPECT_EQ(died, 1);
  EXPECT_EQ(done, 5);
}

TEST(WorkerPoolTest, ReturningFalseHandsOutNothingMore) {
  int done = 0;
  ASSERT_TRUE(RunInWorkers(100, 1, Squares,
                           [&](std::size_t, const Result<std::string>&) { return ++done < 3; }));
  EXPECT_EQ(done, 3);
}

}  // namespace
}  // namespace reprise
