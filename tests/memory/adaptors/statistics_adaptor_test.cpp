#include "memory/adaptors/observing_adaptors.h"

#include <gtest/gtest.h>

#include "memory/allocators/best_fit_pool.h"
#include "memory/device/simulated_device.h"
#include "tests/memory/adaptors/failing_adaptor.h"

namespace skyline {
namespace {

class StatisticsAdaptorTest : public testing::Test {
 protected:
  SimulatedDevice device_;
  BestFitPool pool_{device_};
  FailingAdaptor failing_{pool_};
};

TEST_F(StatisticsAdaptorTest, CountsRequestedBytesByCategory) {
  StatisticsAdaptor statistics(failing_);
  Block a = statistics.allocate(100, {.category = Category::kActivation});
  Block b = statistics.allocate(50, {.category = Category::kActivation});
  Block c = statistics.allocate(7, {.category = Category::kParameter});
  a.reset();
  Block d = statistics.allocate(20, {.category = Category::kActivation});
  EXPECT_EQ(statistics.use(Category::kActivation).bytes, 70u);
  EXPECT_EQ(statistics.use(Category::kActivation).peak_bytes, 150u);
  EXPECT_EQ(statistics.use(Category::kParameter).bytes, 7u);
  EXPECT_EQ(statistics.use(Category::kGradient).peak_bytes, 0u);
}

TEST_F(StatisticsAdaptorTest, ARefusalIsNotCounted) {
  StatisticsAdaptor statistics(failing_);
  statistics.begin_step(0);
  failing_.fail_request(0);
  EXPECT_THROW(statistics.allocate(100, {.category = Category::kState}), OutOfMemory);
  statistics.end_step();
  EXPECT_EQ(statistics.use(Category::kState).peak_bytes, 0u);
  EXPECT_EQ(statistics.last_step().requests, 0u);
}

TEST_F(StatisticsAdaptorTest, CountsTheCallsOfEachStep) {
  StatisticsAdaptor statistics(failing_);
  Block resident = statistics.allocate(1);
  statistics.begin_step(0);
  Block late = statistics.allocate(1);
  statistics.allocate(1).reset();
  resident.reset();
  EXPECT_EQ(statistics.last_step().requests, 0u) << "the step has not ended";
  statistics.end_step();
  late.reset();
  EXPECT_EQ(statistics.last_step().requests, 2u);
  EXPECT_EQ(statistics.last_step().releases, 2u);
  EXPECT_TRUE(statistics.last_step().acquire_ns.empty()) << "not measured is not zero";
  statistics.begin_step(0);
  statistics.end_step();
  EXPECT_EQ(statistics.last_step().requests, 0u);
}

// A user's list of activations keeps them alive; a step that holds nothing ends with none.
TEST_F(StatisticsAdaptorTest, KnowsWhatEachStepKeeps) {
  StatisticsAdaptor statistics(failing_);
  const Block resident = statistics.allocate(1000);
  std::vector<Block> list;
  for (const bool holds : {false, true, false}) {
    list.clear();
    statistics.begin_step(0);
    list.push_back(statistics.allocate(64));
    if (!holds) list.clear();
    statistics.end_step();
    EXPECT_EQ(statistics.last_step().kept_bytes, holds ? 64u : 0u);
  }
}

TEST_F(StatisticsAdaptorTest, KnowsTheMostAliveDuringEachStep) {
  StatisticsAdaptor statistics(failing_);
  const Block resident = statistics.allocate(100, {.category = Category::kParameter});
  statistics.begin_step(0);
  {
    const Block one = statistics.allocate(20, {.category = Category::kActivation});
    const Block other = statistics.allocate(3, {.category = Category::kWorkspace});
  }
  const Block late = statistics.allocate(5, {.category = Category::kGradient});
  statistics.end_step();
  EXPECT_EQ(statistics.last_step().peak_bytes, 123u);
  statistics.begin_step(0);
  statistics.end_step();
  EXPECT_EQ(statistics.last_step().peak_bytes, 105u) << "what outlives a step counts in the next";
}

TEST_F(StatisticsAdaptorTest, TimesEachCallOfTheStepWhenAsked) {
  StatisticsAdaptor statistics(failing_, StatisticsAdaptor::Timing::kOn);
  std::vector<Block> blocks;
  for (int i = 0; i < 50; ++i) blocks.push_back(statistics.allocate(1));
  for (int step = 0; step < 3; ++step) {
    statistics.begin_step(0);
    for (int i = 0; i < 5; ++i) blocks.push_back(statistics.allocate(1));
    blocks.clear();
    statistics.end_step();
    EXPECT_EQ(statistics.last_step().acquire_ns.size(), 5u);
    EXPECT_EQ(statistics.last_step().release_ns.size(), step == 0 ? 55u : 5u);
  }
}

TEST(MedianNs, IsEmptyWithoutMeasurements) {
  EXPECT_FALSE(median_ns({}).has_value());
  EXPECT_EQ(median_ns({9, 1, 5}), 5.0);
  EXPECT_EQ(median_ns({4, 1, 3, 10}), 3.5);
}

}  // namespace
}  // namespace skyline
