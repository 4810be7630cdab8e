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

TEST(LearningRateTest, EveryNameIsASchedule) {
  for (const std::string& name : schedule_names()) {
    EXPECT_DOUBLE_EQ((LearningRate{0.1, name, 10}.at(0)), 0.1) << name;
  }
  EXPECT_THROW((LearningRate{0.1, "cosin", 10}.at(0)), std::invalid_argument);
}

}  // namespace
}  // namespace skyline
