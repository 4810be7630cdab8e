#include "layers/layer.h"

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

std::vector<float> drawn(const InitialValues& initial, std::size_t count) {
  std::vector<float> values(count);
  initial.draw(0, values);
  return values;
}

// 100,000 samples: the standard error of the deviation is 0.22 %, of the mean 0.32 % of it.
TEST(InitializersTest, DeviationsAreThoseOfTheirPapers) {
  RandomStream random{.seed = 7};
  const Moments lecun = moments(drawn(lecun_normal(random, 25), 100'000));
  EXPECT_NEAR(lecun.deviation, 0.2, 0.002);
  EXPECT_NEAR(lecun.mean, 0.0, 0.003);
  const Moments he = moments(drawn(he_normal(random, 50), 100'000));
  EXPECT_NEAR(he.deviation, 0.2, 0.002);
  EXPECT_NEAR(he.mean, 0.0, 0.003);
  EXPECT_NEAR(moments(drawn(normal_of(0.2)(random, 50), 100'000)).deviation, 0.2, 0.002);
}

TEST(InitializersTest, TailIsNormal) {
  RandomStream random{.seed = 8};
  const std::vector<float> values = drawn(lecun_normal(random, 1), 100'000);
  int beyond_two = 0;
  for (const float value : values) beyond_two += std::abs(value) > 2 ? 1 : 0;
  EXPECT_NEAR(beyond_two / 100'000.0, 0.0455, 0.003);
}

TEST(InitializersTest, EachCallTakesOneStreamAndDependsOnTheSeedAlone) {
  RandomStream random{.seed = 9};
  const auto first = drawn(lecun_normal(random, 3), 1001);
  const auto second = drawn(lecun_normal(random, 3), 1001);
  EXPECT_EQ(random.next, 2u);
  EXPECT_NE(first, second);
  RandomStream again{.seed = 9};
  EXPECT_EQ(drawn(lecun_normal(again, 3), 1001), first);
  RandomStream other{.seed = 10};
  EXPECT_NE(drawn(lecun_normal(other, 3), 1001), first);
}

// Weights are filled in pieces, and must not depend on where a piece begins.
TEST(InitializersTest, PiecesAreTheWhole) {
  RandomStream random{.seed = 12};
  const InitialValues initial = lecun_normal(random, 2);
  const std::vector<float> whole = drawn(initial, 103);
  for (const std::size_t first : {4u, 8u, 100u}) {
    std::vector<float> rest(103 - first);
    initial.draw(first, rest);
    EXPECT_EQ(rest,
              std::vector<float>(whole.begin() + static_cast<std::ptrdiff_t>(first), whole.end()));
  }
}

TEST(InitializersTest, ShorterDrawsAreAPrefix) {
  RandomStream random{.seed = 11};
  RandomStream again{.seed = 11};
  auto longer = drawn(he_normal(random, 5), 103);
  longer.resize(10);
  EXPECT_EQ(drawn(he_normal(again, 5), 10), longer);
}

}  // namespace
}  // namespace skyline
