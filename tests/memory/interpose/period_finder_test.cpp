#include "memory/interpose/period_finder.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace skyline {
namespace {

std::vector<std::uint64_t> random_step(std::uint64_t seed, std::size_t requests) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> step(requests);
  for (std::uint64_t& bytes : step) bytes = 65536 + random() % 5;
  return step;
}

// Returns the requests, counted from 1, at which a period ended.
std::vector<std::size_t> ends(PeriodFinder& finder, const std::vector<std::uint64_t>& requests) {
  std::vector<std::size_t> found;
  for (std::size_t k = 0; k < requests.size(); ++k) {
    if (finder.add(requests[k])) found.push_back(k + 1);
  }
  return found;
}

std::vector<std::uint64_t> repeated(const std::vector<std::uint64_t>& step, int times) {
  std::vector<std::uint64_t> all;
  for (int k = 0; k < times; ++k) all.insert(all.end(), step.begin(), step.end());
  return all;
}

TEST(PeriodFinder, FindsStepsThatWereMadeThreeTimes) {
  for (const std::size_t requests : {20u, 37u, 1000u, 30000u}) {
    PeriodFinder finder;
    const std::vector<std::size_t> found = ends(finder, repeated(random_step(1, requests), 6));
    ASSERT_GE(found.size(), 2u) << requests;
    EXPECT_TRUE(finder.known());
    EXPECT_EQ(finder.period(), requests);
    EXPECT_GE(found[0], 3 * requests);
    EXPECT_LE(found[0], 3 * requests + 16);  // a few requests say where the program is
    EXPECT_EQ(found[1] - found[0], requests);
  }
}

TEST(PeriodFinder, FindsNoneInShortOnesAndInNoise) {
  PeriodFinder shorter, noisy;
  EXPECT_TRUE(ends(shorter, repeated(random_step(1, 19), 100)).empty());
  EXPECT_TRUE(ends(noisy, random_step(2, 100000)).empty());
}

// The step: 12 equal layers of 24 requests, then others.
TEST(PeriodFinder, GetsPastLayersToTheStep) {
  std::vector<std::uint64_t> step = repeated(random_step(3, 24), 12);
  const std::vector<std::uint64_t> rest = random_step(4, 50);
  step.insert(step.end(), rest.begin(), rest.end());
  PeriodFinder finder;
  ends(finder, repeated(step, 20));
  EXPECT_TRUE(finder.known());
  EXPECT_EQ(finder.period(), step.size());
}

TEST(PeriodFinder, LosesAStepThatChangesAndFindsTheNext) {
  PeriodFinder finder;
  ends(finder, repeated(random_step(5, 100), 40));
  EXPECT_TRUE(finder.known());
  ends(finder, {1});
  EXPECT_FALSE(finder.known());
  ends(finder, repeated(random_step(6, 70), 4));
  EXPECT_TRUE(finder.known());
  EXPECT_EQ(finder.period(), 70u);
}

}  // namespace
}  // namespace skyline
