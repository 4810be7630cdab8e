#include "memory/adaptors/observing_adaptors.h"

#include <gtest/gtest.h>

#include "memory/adaptors/checking_adaptors.h"
#include "memory/allocators/best_fit_pool.h"
#include "memory/device/simulated_device.h"
#include "tests/memory/adaptors/failing_adaptor.h"

namespace skyline {
namespace {

using Blocks = std::vector<TraceBlock>;

class RecordingAdaptorTest : public testing::Test {
 protected:
  SimulatedDevice device_;
  BestFitPool pool_{device_};
  FailingAdaptor failing_{pool_};
  RecordingAdaptor recording_{failing_};
};

TEST_F(RecordingAdaptorTest, TicksCountRequestsAndReleases) {
  recording_.begin_step(42);
  Block a = recording_.allocate(100, {"conv2d", "conv1", Phase::kForward, Category::kActivation});
  Block b = recording_.allocate(0);
  a.reset();
  Block c = recording_.allocate(300);
  EXPECT_EQ(recording_.last_step().size(), 0u) << "the step has not ended";
  recording_.end_step();
  EXPECT_EQ(recording_.last_step().blocks, (Blocks{{0, 2, 100}, {1, 4, 0}, {3, 4, 300}}));
  ASSERT_EQ(recording_.last_step().tags.size(), 3u);
  EXPECT_EQ(recording_.last_step().tags[0],
            (BlockTag{"conv2d", "conv1", Phase::kForward, Category::kActivation}));
  EXPECT_EQ(recording_.last_step().tags[1], BlockTag{});
}

TEST_F(RecordingAdaptorTest, EachStepIsATraceOfItsOwn) {
  recording_.begin_step(1);
  Block leftover = recording_.allocate(10);
  recording_.end_step();
  recording_.begin_step(2);
  Block own = recording_.allocate(20);
  leftover.reset();  // of an earlier step: no tick
  own.reset();
  recording_.end_step();
  EXPECT_EQ(recording_.last_step().blocks, (Blocks{{0, 1, 20}}));
  recording_.begin_step(3);
  recording_.end_step();
  EXPECT_EQ(recording_.last_step().size(), 0u);
}

TEST_F(RecordingAdaptorTest, InterruptedPartsHaveTicksOfTheirOwn) {
  recording_.begin_step(1);
  Block a = recording_.allocate(10);
  Block kept;
  {
    const Interruption outer(recording_);
    Block b = recording_.allocate(20, {.op = "relu"});
    const Interruption inner(recording_);
    kept = recording_.allocate(30);
    b.reset();
    a.reset();  // of the step: a tick there
  }
  kept.reset();  // of a part that has ended
  { const Interruption second(recording_); }
  recording_.end_step();
  EXPECT_EQ(recording_.last_step().blocks, (Blocks{{0, 1, 10}}));
  ASSERT_EQ(recording_.last_parts().size(), 2u);
  const InterruptedPart& part = recording_.last_parts().front();
  EXPECT_EQ(part.at, 1u);
  EXPECT_EQ(part.trace.blocks, (Blocks{{0, 2, 20}, {1, 3, 30}}));
  EXPECT_EQ(part.trace.tags.front().op, "relu");
  EXPECT_EQ(recording_.last_parts()[1].at, 2u);
  EXPECT_EQ(recording_.last_parts()[1].trace.size(), 0u);

  recording_.begin_step(1);
  recording_.end_step();
  EXPECT_EQ(recording_.last_parts().size(), 2u) << "of the last step that had some";
}

TEST_F(RecordingAdaptorTest, AShadowServesTheSameRequests) {
  SimulatedDevice device;
  BestFitPool pool(device);
  ShadowAdaptor shadowed(recording_, pool);
  Block a = shadowed.allocate(1000), b = shadowed.allocate(3000);
  a.reset();
  EXPECT_EQ(pool.statistics(), pool_.statistics());
  failing_.fail_request(0);
  EXPECT_THROW(shadowed.allocate(10), OutOfMemory);
  shadowed.release_cached();
  EXPECT_EQ(pool.statistics().reserved_bytes, 3072u);
}

// Counts what reaches the upstream.
class AbandonCounter final : public Adaptor {
 public:
  using Adaptor::Adaptor;
  void abandon_step() override { ++abandoned; }
  int abandoned = 0;
};

TEST_F(RecordingAdaptorTest, AnAbandonedStepIsForgottenAndPassedOn) {
  AbandonCounter upstream(pool_);
  StatisticsAdaptor statistics(upstream);
  CheckingAdaptor checking(statistics);  // forwards like every adaptor
  RecordingAdaptor recording(checking);
  recording.begin_step(1);
  recording.allocate(10).reset();
  recording.end_step();
  recording.begin_step(2);
  Block cut = recording.allocate(20);
  recording.abandon_step();
  EXPECT_EQ(upstream.abandoned, 1);
  Block outside = recording.allocate(30);
  cut.reset();
  EXPECT_EQ(recording.last_step().blocks, (Blocks{{0, 1, 10}}));
  EXPECT_EQ(statistics.last_step().requests, 1u);
  recording.begin_step(3);
  recording.end_step();
  EXPECT_EQ(recording.last_step().size(), 0u);
  EXPECT_EQ(statistics.last_step().requests, 0u);
}

TEST_F(RecordingAdaptorTest, WhatIsOutsideOrInterruptedMakesNoTick) {
  Block resident = recording_.allocate(1);
  recording_.begin_step(0);
  Block hot = recording_.allocate(2);
  Block cold;
  {
    Interruption outer(recording_);
    Interruption inner(recording_);
    cold = recording_.allocate(3);
    hot.reset();  // of the step: a tick, even here
  }
  cold.reset();
  resident.reset();
  Block last = recording_.allocate(4);
  recording_.end_step();
  last.reset();
  EXPECT_EQ(recording_.last_step().blocks, (Blocks{{0, 1, 2}, {2, 3, 4}}));
}

TEST_F(RecordingAdaptorTest, ARefusedRequestLeavesNoTrace) {
  recording_.begin_step(0);
  Block a = recording_.allocate(1, {.op = "first"});
  failing_.fail_request(0);
  EXPECT_THROW(recording_.allocate(2, {.op = "refused"}), OutOfMemory);
  Block b = recording_.allocate(3, {.op = "second"});
  recording_.end_step();
  EXPECT_EQ(recording_.last_step().blocks, (Blocks{{0, 2, 1}, {1, 2, 3}}));
  ASSERT_EQ(recording_.last_step().tags.size(), 2u);
  EXPECT_EQ(recording_.last_step().tags[1].op, "second");
}

TEST_F(RecordingAdaptorTest, AStepBegunAnewForgetsTheOneBefore) {
  recording_.begin_step(0);
  Block abandoned = recording_.allocate(1);
  recording_.begin_step(0);  // as after an exception in the middle of a step
  Block own = recording_.allocate(2);
  abandoned.reset();
  recording_.end_step();
  EXPECT_EQ(recording_.last_step().blocks, (Blocks{{0, 1, 2}}));
}

}  // namespace
}  // namespace skyline
