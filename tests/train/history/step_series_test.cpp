#include "train/history/step_series.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace skyline {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(StepSeries, HoldsEachStepOfAShortRun) {
  const StepSeries series = StepSeries::of(std::vector<double>{2.5, kNaN, 0.5});
  EXPECT_EQ(series.steps(), 3u);
  EXPECT_EQ(series.steps_per_point(), 1u);
  ASSERT_EQ(series.points().size(), 3u);
  EXPECT_EQ(series.points()[0].mean(), 2.5);
  EXPECT_EQ(series.points()[1].measured, 0u);
  EXPECT_EQ(series.points()[2].most, 0.5);
}

// Compares with sums over the values themselves.
TEST(StepSeries, HasAsManyPointsAsAllowedHoweverManySteps) {
  for (const std::size_t steps : {1u, 7u, 8u, 9u, 16u, 17u, 100u, 1023u, 1025u}) {
    SCOPED_TRACE(steps);
    std::vector<double> values;
    StepSeries series(8);
    for (std::size_t i = 0; i < steps; ++i) {
      values.push_back(i % 5 == 3 ? kNaN : static_cast<double>(i * 7919 % 101));
      series.add(values.back());
    }
    const std::size_t per = series.steps_per_point();
    EXPECT_EQ(series.steps(), steps);
    EXPECT_LE(series.points().size(), 8u);
    EXPECT_EQ(series.points().size(), (steps + per - 1) / per);
    EXPECT_TRUE(per == 1 || 2 * series.points().size() > 8) << "not thinned more than needed";
    for (std::size_t i = 0; i < series.points().size(); ++i) {
      double sum = 0, least = kNaN, most = kNaN;
      std::uint64_t measured = 0;
      for (std::size_t j = i * per; j < std::min((i + 1) * per, steps); ++j) {
        if (std::isnan(values[j])) continue;
        sum += values[j];
        least = std::fmin(least, values[j]);
        most = std::fmax(most, values[j]);
        ++measured;
      }
      const StepSeries::Point& point = series.points()[i];
      EXPECT_EQ(point.measured, measured);
      if (measured == 0) continue;
      EXPECT_EQ(point.sum, sum);
      EXPECT_EQ(point.least, least);
      EXPECT_EQ(point.most, most);
    }
  }
}

TEST(StepSeries, MissingStepsAreGapsAndCostNoTime) {
  StepSeries one_by_one(8), at_once(8);
  for (const std::uint64_t missing : {3u, 40u, 0u, 1u, 1000u}) {
    for (std::uint64_t i = 0; i < missing; ++i) one_by_one.add(kNaN);
    at_once.add_missing(missing);
    one_by_one.add(4);
    at_once.add(4);
    EXPECT_EQ(one_by_one, at_once);
  }
  at_once.add_missing(std::uint64_t{1} << 60);
  EXPECT_LE(at_once.points().size(), 8u);
}

TEST(StepSeries, CountsByHundredsThenByTwoHundreds) {
  StepsChart chart;
  const auto add = [&chart](std::uint64_t steps) {
    for (std::uint64_t i = 0; i < steps; ++i) {
      chart.add("planned", {.replans = chart.live_bytes.steps() % 50 == 0 ? 1u : 0u});
    }
  };
  add(250);
  EXPECT_EQ(sums_of(chart.lines[0].replans_by_hundreds), (std::vector<std::uint64_t>{2, 2, 1}));
  add(102400 - 250 + 1);
  const StepSeries& counts = chart.lines[0].replans_by_hundreds;
  EXPECT_EQ(counts.steps_per_point(), 200u);
  EXPECT_EQ(counts.points().size(), 513u);
  EXPECT_EQ(counts.points()[0].sum, 4);
}

TEST(Samples, KeepEverySecondWhenThereAreTooMany) {
  Samples<int, 8> samples;
  for (int i = 0; i < 7; ++i) samples.add(i);
  EXPECT_EQ(samples.kept(), (std::vector<int>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(samples.stride(), 1u);
  samples.add(7);
  EXPECT_EQ(samples.kept(), (std::vector<int>{0, 2, 4, 6}));
  for (int i = 8; i < 100; ++i) samples.add(i);
  EXPECT_LT(samples.kept().size(), 8u);
  for (std::size_t i = 0; i < samples.kept().size(); ++i) {
    EXPECT_EQ(samples.kept()[i], static_cast<int>(i * samples.stride()));
  }
  EXPECT_GT(samples.kept().back(), 99 - static_cast<int>(samples.stride()));
}

}  // namespace
}  // namespace skyline
