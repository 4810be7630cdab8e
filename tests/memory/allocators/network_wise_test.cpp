#include "memory/allocators/network_wise.h"

#include <gtest/gtest.h>

#include "memory/device/simulated_device.h"

namespace skyline {
namespace {

class NetworkWiseTest : public testing::Test {
 protected:
  std::size_t reserved() const { return allocator_.statistics().reserved_bytes; }

  SimulatedDevice device_;
  NetworkWise allocator_{device_};
};

TEST_F(NetworkWiseTest, NothingIsReusedInsideAStep) {
  allocator_.begin_step(0);
  for (int i = 0; i < 10; ++i) allocator_.allocate(1000);
  allocator_.end_step();
  EXPECT_EQ(reserved(), 10 * 1024u);
  EXPECT_EQ(allocator_.statistics().peak_allocated_bytes, 1024u);
}

TEST_F(NetworkWiseTest, RequestKOwnsSlotK) {
  allocator_.begin_step(0);
  std::byte* first = allocator_.allocate(1000).address();
  std::byte* second = allocator_.allocate(1000).address();
  allocator_.end_step();
  allocator_.begin_step(1);
  EXPECT_EQ(allocator_.allocate(10).address(), first);
  EXPECT_EQ(allocator_.allocate(1024).address(), second);
  allocator_.end_step();
  EXPECT_EQ(reserved(), 2048u);
}

TEST_F(NetworkWiseTest, ASlotGrowsToTheMostAskedOfIt) {
  for (const std::size_t bytes : {512u, 2048u, 1024u}) {
    allocator_.begin_step(0);
    Block a = allocator_.allocate(bytes), b = allocator_.allocate(512);
    EXPECT_EQ(allocator_.statistics().allocated_bytes, 512 + (bytes == 512 ? 512u : 2048u));
    allocator_.end_step();
  }
  EXPECT_EQ(reserved(), 2048u + 512u);
  EXPECT_EQ(allocator_.statistics().peak_reserved_bytes, 2048u + 512u);
  EXPECT_EQ(allocator_.statistics().device_allocations, 3u);
  EXPECT_EQ(allocator_.statistics().largest_free_block_bytes, 2048u);
}

// Request k of an evaluation is another than request k of training: the larger of each would add up
// to more than either needs.
TEST_F(NetworkWiseTest, SlotsHoldOneKindOfStep) {
  const ShapeKey evaluation{0, StepKind::kInference};
  for (const ShapeKey kind : {ShapeKey(0), evaluation, ShapeKey(0), evaluation}) {
    allocator_.begin_step(kind);
    const bool training = kind == ShapeKey(0);
    const Block first = allocator_.allocate(training ? 512 : 4096);
    const Block second = allocator_.allocate(training ? 8192 : 512);
    allocator_.end_step();
    EXPECT_EQ(reserved(), training ? 8704u : 4608u);
  }
  EXPECT_EQ(allocator_.statistics().peak_reserved_bytes, 8704u);
}

TEST_F(NetworkWiseTest, ASlotWhoseBlockIsAliveIsNotHandedOut) {
  allocator_.begin_step(0);
  Block old = allocator_.allocate(512);
  allocator_.end_step();
  allocator_.begin_step(0);
  Block one_block = allocator_.allocate(512), slot_1 = allocator_.allocate(512);
  EXPECT_NE(one_block.address(), old.address());
  EXPECT_EQ(reserved(), 3 * 512u);
  one_block.reset();
  EXPECT_EQ(reserved(), 2 * 512u) << "a slot for one block goes back when freed";
  std::byte* slot_0 = old.address();
  old.reset();
  slot_1.reset();
  allocator_.end_step();
  allocator_.begin_step(0);
  EXPECT_EQ(allocator_.allocate(512).address(), slot_0);
  allocator_.end_step();
}

TEST_F(NetworkWiseTest, MemoryFromBeforeTheFirstStepStaysReserved) {
  allocator_.allocate(512).reset();
  allocator_.allocate(512).reset();
  EXPECT_EQ(reserved(), 1024u);
  allocator_.begin_step(0);
  allocator_.allocate(512).reset();
  allocator_.end_step();
  EXPECT_EQ(reserved(), 1536u);
  allocator_.release_cached();
  EXPECT_EQ(reserved(), 0u);
}

TEST_F(NetworkWiseTest, BetweenStepsAndInterruptedMemoryGoesBackWhenFreed) {
  allocator_.begin_step(0);
  Block hot = allocator_.allocate(512);
  {
    Interruption interruption(allocator_);
    Block cold = allocator_.allocate(4096);
    EXPECT_EQ(reserved(), 4608u);
  }
  EXPECT_EQ(reserved(), 512u);
  Block second = allocator_.allocate(1024);  // slot 1: the interrupted request was not counted
  hot.reset();
  second.reset();
  allocator_.end_step();
  for (int batch = 0; batch < 100; ++batch) allocator_.allocate(4096).reset();
  EXPECT_EQ(reserved(), 1536u);
  EXPECT_EQ(allocator_.statistics().peak_reserved_bytes, 1536u + 4096u);
}

TEST_F(NetworkWiseTest, ARefusedGrowthLeavesTheSlotEmptyAndTheCountRight) {
  SimulatedDevice small(4096);
  NetworkWise allocator(small);
  allocator.begin_step(0);
  allocator.allocate(1024).reset();
  allocator.end_step();
  allocator.begin_step(0);
  try {
    allocator.allocate(8192, {.op = "conv2d", .layer = "conv1"});
    FAIL() << "expected OutOfMemory";
  } catch (const OutOfMemory& refusal) {
    EXPECT_EQ(refusal.facts().shortage, Shortage::kDevice);
    EXPECT_EQ(refusal.facts().where, "network-wise on simulated");
    EXPECT_EQ(refusal.facts().request, "conv2d of conv1 (outside, unknown)");
    EXPECT_EQ(refusal.facts().largest_free_block_bytes, 0u);
  }
  EXPECT_EQ(allocator.statistics().reserved_bytes, 0u);
  EXPECT_EQ(allocator.statistics().out_of_memory, 1u);
  Block again = allocator.allocate(4096);  // the refused request was not counted: still request 0
  allocator.end_step();
  EXPECT_EQ(allocator.statistics().reserved_bytes, 4096u);
}

}  // namespace
}  // namespace skyline
