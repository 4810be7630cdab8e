#include "framework/philox.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace skyline {
namespace {

struct KnownAnswer {
  std::array<std::uint32_t, 4> counter;
  std::array<std::uint32_t, 2> key;
  std::array<std::uint32_t, 4> words;
};

std::uint64_t joined(std::uint32_t low, std::uint32_t high) {
  return std::uint64_t{high} << 32 | low;
}

// The lines "philox4x32 10" of Random123's tests/kat_vectors.
TEST(Philox, GivesTheKnownAnswersOfRandom123) {
  const KnownAnswer answers[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (const auto& [counter, key, words] : answers) {
    EXPECT_EQ(Philox{joined(key[0], key[1])}(joined(counter[2], counter[3]),
                                             joined(counter[0], counter[1])),
              words);
  }
}

TEST(Philox, TellsSeedsStreamsAndCountersApart) {
  std::set<std::array<std::uint32_t, 4>> words;
  const std::uint64_t values[] = {0, 1, std::uint64_t{1} << 32, ~std::uint64_t{0}};
  for (const std::uint64_t seed : values) {
    for (const std::uint64_t stream : values) {
      for (const std::uint64_t counter : values) words.insert(Philox{seed}(stream, counter));
    }
  }
  EXPECT_EQ(words.size(), 64u);
}

// Chi-square of 100 equal bins over 10^6 numbers: 99 degrees of freedom, 99.99 % quantile 161.3.
TEST(Philox, SpreadsUniformFloatsEvenly) {
  constexpr int kBins = 100, kCounters = 250000;
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    std::vector<int> counts(kBins, 0);
    for (std::uint64_t counter = 0; counter < kCounters; ++counter) {
      for (const std::uint32_t word : Philox{seed}(5, counter)) {
        const float value = uniform_float(word);
        ASSERT_TRUE(value >= 0 && value < 1) << value;
        ++counts[static_cast<std::size_t>(value * kBins)];
      }
    }
    constexpr double kExpected = 4.0 * kCounters / kBins;
    double chi_square = 0;
    for (const int count : counts) chi_square += std::pow(count - kExpected, 2) / kExpected;
    EXPECT_LT(chi_square, 161.3) << "seed " << seed;
  }
}

TEST(Philox, UniformFloatsReachBothEnds) {
  EXPECT_EQ(uniform_float(0), 0);
  EXPECT_EQ(uniform_float(0xffffffff), 1 - 0x1p-24f);
}

// Mean 0, variance 1, kurtosis 3, within 5 standard errors of n = 200,000 numbers.
TEST(Philox, NormalPairsHaveTheMomentsOfANormalDistribution) {
  constexpr int kPairs = 100000;
  constexpr double kNumbers = 2.0 * kPairs;
  double sum = 0, squares = 0, fourths = 0, products = 0;
  for (std::uint64_t counter = 0; counter < kPairs; ++counter) {
    const auto words = Philox{7}(9, counter);
    const auto [a, b] = normal_pair(words[0], words[1]);
    for (const double v : {double{a}, double{b}}) {
      sum += v;
      squares += v * v;
      fourths += v * v * v * v;
    }
    products += double{a} * double{b};
  }
  EXPECT_NEAR(sum / kNumbers, 0, 5 / std::sqrt(kNumbers));
  EXPECT_NEAR(squares / kNumbers, 1, 5 * std::sqrt(2 / kNumbers));
  EXPECT_NEAR(fourths / kNumbers, 3, 5 * std::sqrt(96 / kNumbers));
  EXPECT_NEAR(products / kPairs, 0, 5 / std::sqrt(double{kPairs}));
}

TEST(Philox, NormalPairsAreFiniteAtTheEnds) {
  for (const std::uint32_t first : {0u, 0xffffffffu}) {
    for (const float value : normal_pair(first, 0xffffffff)) EXPECT_TRUE(std::isfinite(value));
  }
}

TEST(RandomStream, GivesEachNumberOnce) {
  RandomStream stream{.seed = 3, .next = 10};
  EXPECT_EQ(stream.take(), 10u);
  EXPECT_EQ(stream.take(), 11u);
  EXPECT_EQ(stream.next, 12u);
  stream.batch = (1u << 23) - 1;
  EXPECT_EQ(stream.take() >> 40, stream.batch) << "another batch has other numbers";
  EXPECT_EQ(stream.next, 13u);
}

}  // namespace
}  // namespace skyline
