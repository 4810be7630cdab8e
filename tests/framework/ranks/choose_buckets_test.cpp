#include "framework/ranks/choose_buckets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

namespace skyline {
namespace {

using testing::ElementsAre;
using Gradients = std::vector<ReadyGradient>;
using Sizes = std::vector<std::size_t>;

// When the last of these sums ends.
double end_of(const Gradients& gradients, const Sizes& sizes, const RankLink& link,
              std::size_t ranks) {
  double end = 0;
  std::size_t next = 0;
  for (const std::size_t size : sizes) {
    std::uint64_t bytes = 0;
    double ready = 0;
    for (const std::size_t last = next + size; next < last; ++next) {
      bytes += gradients[next].bytes;
      ready = std::max(ready, gradients[next].seconds);
    }
    end = std::max(end, ready) + cost_of_sum(bytes, ranks, link).seconds;
  }
  return end;
}

// The division whose cuts are the bits of `cuts`.
Sizes division(std::size_t gradients, std::uint64_t cuts) {
  Sizes sizes = {1};
  for (std::size_t i = 1; i < gradients; ++i) {
    if ((cuts >> (i - 1) & 1) != 0) {
      sizes.push_back(1);
    } else {
      ++sizes.back();
    }
  }
  return sizes;
}

// Whole seconds and powers of two, so that no sum is rounded.
struct RandomSums {
  explicit RandomSums(std::uint64_t seed) : bits(seed) {
    const std::size_t count = 1 + bits() % 10;
    double now = 0;
    for (std::size_t i = 0; i < count; ++i) {
      now += static_cast<double>(bits() % 5);
      gradients.push_back({now, 16 * (bits() % 8)});
    }
    link = {.bytes_per_second = std::uint64_t{1} << bits() % 8,
            .message_seconds = static_cast<double>(bits() % 4)};
    ranks = std::size_t{1} << bits() % 4;
    most_bytes = bits() % 2 == 0 ? kNoLimit : 16 * (bits() % 16);
  }
  // Whether no bucket of several gradients has too many bytes.
  bool allow(const Sizes& sizes) const {
    auto next = gradients.begin();
    for (const std::size_t size : sizes) {
      std::uint64_t bytes = 0;
      for (const auto last = next + static_cast<std::ptrdiff_t>(size); next != last; ++next) {
        bytes += next->bytes;
      }
      if (size > 1 && bytes > most_bytes) return false;
    }
    return true;
  }
  std::mt19937_64 bits;
  Gradients gradients;
  RankLink link;
  std::size_t ranks = 1;
  std::uint64_t most_bytes = kNoLimit;
};

TEST(ChooseBuckets, EndAsEarlyAsAnyDivisionAndAreTheFewest) {
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE(seed);
    const RandomSums sums(seed);
    const std::size_t count = sums.gradients.size();
    double least = std::numeric_limits<double>::infinity();
    std::size_t fewest = 0;
    for (std::uint64_t cuts = 0; cuts < std::uint64_t{1} << (count - 1); ++cuts) {
      const Sizes sizes = division(count, cuts);
      if (!sums.allow(sizes)) continue;
      const double end = end_of(sums.gradients, sizes, sums.link, sums.ranks);
      if (end < least || (end == least && sizes.size() < fewest)) fewest = sizes.size();
      least = std::min(least, end);
    }
    const Sizes chosen = choose_buckets(sums.gradients, sums.link, sums.ranks, sums.most_bytes);
    ASSERT_TRUE(sums.allow(chosen));
    ASSERT_EQ(std::accumulate(chosen.begin(), chosen.end(), std::size_t{0}), count);
    ASSERT_EQ(std::ranges::count(chosen, 0u), 0);
    ASSERT_EQ(end_of(sums.gradients, chosen, sums.link, sums.ranks), least);
    ASSERT_EQ(chosen.size(), fewest);
  }
}

// 2 ranks: a sum takes 2 messages and a second for each 100 bytes.
constexpr RankLink kSlow = {.bytes_per_second = 100, .message_seconds = 0};

TEST(ChooseBuckets, SumEarlyWhatWouldDelayTheLast) {
  EXPECT_THAT(choose_buckets(Gradients{{1, 100}, {2, 100}, {3, 100}}, kSlow, 2),
              ElementsAre(1, 1, 1));
  EXPECT_THAT(choose_buckets(Gradients{{1, 10}, {2, 10}, {9, 100}}, kSlow, 2), ElementsAre(2, 1));
}

TEST(ChooseBuckets, SaveMessages) {
  const RankLink link = {.bytes_per_second = 100, .message_seconds = 10};
  EXPECT_THAT(choose_buckets(Gradients{{1, 100}, {2, 100}, {3, 100}}, link, 2), ElementsAre(3));
}

TEST(ChooseBuckets, OfOneRankAreOne) {
  EXPECT_THAT(choose_buckets(Gradients{{1, 100}, {2, 100}}, kSlow, 1), ElementsAre(2));
  EXPECT_THAT(choose_buckets({}, kSlow, 2), ElementsAre());
}

TEST(ChooseBuckets, OfThousandsOfGradientsEndNoLaterThanOneByOne) {
  std::mt19937_64 bits(1);
  Gradients gradients;
  for (int i = 0; i < 4000; ++i) {
    gradients.push_back({1e-3 * i, 1000 + bits() % 100'000});
  }
  for (const std::uint64_t bandwidth : {10'000'000, 100'000'000}) {
    const RankLink link = {.bytes_per_second = bandwidth, .message_seconds = 1e-4};
    const double chosen = end_of(gradients, choose_buckets(gradients, link, 8), link, 8);
    EXPECT_LE(chosen, end_of(gradients, Sizes(gradients.size(), 1), link, 8));
    EXPECT_LE(chosen, end_of(gradients, Sizes{gradients.size()}, link, 8));
  }
}

}  // namespace
}  // namespace skyline
