#include "layers/initializers.h"

#include <gtest/gtest.h>

#include <cmath>

namespace skyline {
namespace {

struct Moments {
  double mean = 0, deviation = 0;
};

Moments moments(const std::vector<float>& values) {
  double sum = 0, squares = 0;
  for (const float value : values) {
    sum += value;
    squares += double{value} * value;
  }
  const double mean = sum / static_cast<double>(values.size());
  return {mean, std::sqrt(squares / static_cast<double>(values.size()) - mean * mean)};
}

// 100,000 samples: the standard error of the deviation is 0.22 %, of the mean 0.32 % of it.
TEST(InitializersTest, DeviationsAreThoseOfTheirPapers) {
  RandomStream random{.seed = 7};
  const Moments lecun = moments(lecun_normal(random, 100'000, 25));
  EXPECT_NEAR(lecun.deviation, 0.2, 0.002);
  EXPECT_NEAR(lecun.mean, 0.0, 0.003);
  const Moments he = moments(he_normal(random, 100'000, 50));
  EXPECT_NEAR(he.deviation, 0.2, 0.002);
  EXPECT_NEAR(he.mean, 0.0, 0.003);
}

TEST(InitializersTest, TailIsNormal) {
  RandomStream random{.seed = 8};
  const std::vector<float> values = lecun_normal(random, 100'000, 1);
  int beyond_two = 0;
  for (const float value : values) beyond_two += std::abs(value) > 2 ? 1 : 0;
  EXPECT_NEAR(beyond_two / 100'000.0, 0.0455, 0.003);
}

TEST(InitializersTest, EachCallTakesOneStreamAndDependsOnTheSeedAlone) {
  RandomStream random{.seed = 9};
  const auto first = lecun_normal(random, 1001, 3);
  const auto second = lecun_normal(random, 1001, 3);
  EXPECT_EQ(random.next, 2u);
  EXPECT_NE(first, second);
  RandomStream again{.seed = 9};
  EXPECT_EQ(lecun_normal(again, 1001, 3), first);
  RandomStream other{.seed = 10};
  EXPECT_NE(lecun_normal(other, 1001, 3), first);
}

TEST(InitializersTest, ShorterDrawsAreAPrefix) {
  RandomStream random{.seed = 11};
  RandomStream again{.seed = 11};
  auto longer = he_normal(random, 103, 5);
  longer.resize(10);
  EXPECT_EQ(he_normal(again, 10, 5), longer);
}

}  // namespace
}  // namespace skyline
