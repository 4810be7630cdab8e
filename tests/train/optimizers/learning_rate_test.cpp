#include "train/optimizers/optimizer.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace skyline {
namespace {

TEST(LearningRateTest, ConstantStays) {
  const LearningRate rate{0.1, "constant", 100};
  EXPECT_EQ(rate.at(0), 0.1);
  EXPECT_EQ(rate.at(99), 0.1);
}

TEST(LearningRateTest, CosineFallsFromBaseToNothing) {
  const LearningRate rate{0.1, "cosine", 100};
  EXPECT_DOUBLE_EQ(rate.at(0), 0.1);
  EXPECT_DOUBLE_EQ(rate.at(50), 0.05);
  EXPECT_NEAR(rate.at(25), 0.1 * 0.853553, 1e-7);
  EXPECT_NEAR(rate.at(100), 0.0, 1e-17);
}

TEST(LearningRateTest, StepFallsAtHalfAndThreeQuarters) {
  const LearningRate rate{0.1, "step", 100};
  EXPECT_DOUBLE_EQ(rate.at(49), 0.1);
  EXPECT_DOUBLE_EQ(rate.at(50), 0.01);
  EXPECT_DOUBLE_EQ(rate.at(74), 0.01);
  EXPECT_DOUBLE_EQ(rate.at(75), 0.001);
}

void expect_rates(const LearningRate& rate, const std::vector<double>& expected) {
  for (std::size_t step = 0; step < expected.size(); ++step) {
    EXPECT_NEAR(rate.at(static_cast<std::int64_t>(step)), expected[step], 5e-10) << step;
  }
}

// Rates of torch.optim.lr_scheduler, see LearningRate.
TEST(LearningRateTest, WarmsUpAndFallsAtMilestonesAsPyTorch) {
  expect_rates({.base = 0.4,
                .schedule = "milestones",
                .total_steps = 12,
                .warmup_steps = 4,
                .milestones = {6, 9},
                .gamma = 0.1},
               {0.1, 0.2, 0.3, 0.4, 0.4, 0.4, 0.04, 0.04, 0.04, 0.004, 0.004, 0.004});
}

TEST(LearningRateTest, TheCosineBeginsAfterTheWarmUpAsInPyTorch) {
  expect_rates({.base = 0.4, .schedule = "cosine", .total_steps = 12, .warmup_steps = 4},
               {0.1, 0.2, 0.3, 0.4, 0.4, 0.384775907, 0.341421356, 0.276536686, 0.2, 0.123463314,
                0.0585786438, 0.0152240935});
}

TEST(LearningRateTest, TheCosineEndsAtTheLeastRateAsInPyTorch) {
  expect_rates(
      {.base = 0.4, .schedule = "cosine", .total_steps = 8, .warmup_steps = 4, .least = 0.1},
      {0.1, 0.2, 0.3, 0.4, 0.4, 0.356066017, 0.25, 0.143933983, 0.1});
}

TEST(LearningRateTest, AWarmUpMayCoverTheWholeRun) {
  expect_rates({.base = 1, .schedule = "cosine", .total_steps = 2, .warmup_steps = 4}, {0.25, 0.5});
}

TEST(LearningRateTest, EveryNameIsASchedule) {
  for (const std::string& name : schedule_names()) {
    EXPECT_DOUBLE_EQ((LearningRate{0.1, name, 10}.at(0)), 0.1) << name;
  }
  EXPECT_THROW((LearningRate{0.1, "cosin", 10}.at(0)), std::invalid_argument);
}

}  // namespace
}  // namespace skyline
