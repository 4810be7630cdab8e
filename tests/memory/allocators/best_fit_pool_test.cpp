#include "memory/allocators/best_fit_pool.h"

#include <gtest/gtest.h>

#include "memory/device/simulated_device.h"

namespace skyline {
namespace {

class BestFitPoolTest : public testing::Test {
 protected:
  SimulatedDevice device_{64 * 1024};
  BestFitPool pool_{device_};

  // Blocks of these sizes next to each other in one device allocation.
  std::vector<Block> carve(std::initializer_list<std::size_t> sizes) {
    std::size_t total_bytes = 0;
    for (const std::size_t bytes : sizes) total_bytes += bytes;
    pool_.allocate(total_bytes).reset();
    std::vector<Block> blocks;
    for (const std::size_t bytes : sizes) blocks.push_back(pool_.allocate(bytes));
    return blocks;
  }
};

TEST_F(BestFitPoolTest, TakesExactlyTheRoundedSizeFromTheDevice) {
  Block block = pool_.allocate(700);
  EXPECT_EQ(pool_.statistics().reserved_bytes, 1024u);
  EXPECT_EQ(pool_.statistics().internal_fragmentation_bytes(), 324u);
}

TEST_F(BestFitPoolTest, TakesTheSmallestChunkThatFits) {
  Block big = pool_.allocate(8192), fitting = pool_.allocate(2048), small = pool_.allocate(1024);
  std::byte* expected = fitting.address();
  big.reset();
  fitting.reset();
  small.reset();
  EXPECT_EQ(pool_.allocate(1500).address(), expected);
}

TEST_F(BestFitPoolTest, BreaksTiesByTheLowestAddress) {
  Block low = pool_.allocate(1024), high = pool_.allocate(1024);
  std::byte* lowest = low.address();
  high.reset();
  low.reset();
  EXPECT_EQ(pool_.allocate(1024).address(), lowest);
}

TEST_F(BestFitPoolTest, SplitsOffAnyRemainder) {
  pool_.allocate(4096).reset();
  Block block = pool_.allocate(3584);
  EXPECT_EQ(pool_.statistics().largest_free_block_bytes, 512u);
  Block rest = pool_.allocate(1);
  EXPECT_EQ(rest.address(), block.address() + 3584);
  EXPECT_EQ(pool_.statistics().device_allocations, 1u);
}

TEST_F(BestFitPoolTest, MergesWithBothNeighbours) {
  auto blocks = carve({1024, 512, 2048});
  std::byte* first = blocks[0].address();
  blocks[0].reset();
  blocks[2].reset();
  EXPECT_EQ(pool_.statistics().largest_free_block_bytes, 2048u);
  EXPECT_DOUBLE_EQ(pool_.statistics().external_fragmentation(), 1024.0 / 3072.0);
  blocks[1].reset();
  EXPECT_EQ(pool_.statistics().largest_free_block_bytes, 3584u);
  EXPECT_DOUBLE_EQ(pool_.statistics().external_fragmentation(), 0.0);
  EXPECT_EQ(pool_.allocate(3584).address(), first);
}

TEST_F(BestFitPoolTest, DoesNotMergeAcrossDeviceAllocations) {
  Block a = pool_.allocate(1024), b = pool_.allocate(1024);
  a.reset();
  b.reset();
  EXPECT_EQ(pool_.statistics().largest_free_block_bytes, 1024u);
}

TEST_F(BestFitPoolTest, FlushesUnsplitChunksUnderPressure) {
  pool_.allocate(24 * 1024).reset();
  Block other = pool_.allocate(30 * 1024);  // does not fit into the 24 KiB
  Block big = pool_.allocate(32 * 1024);    // fits the device only after a flush
  EXPECT_EQ(pool_.statistics().flushes, 1u);
  EXPECT_EQ(pool_.statistics().device_frees, 1u);
  EXPECT_EQ(pool_.statistics().reserved_bytes, 62 * 1024u);
  EXPECT_EQ(pool_.statistics().out_of_memory, 0u);
}

TEST_F(BestFitPoolTest, SaysFragmentationWhenFreeBytesWouldHaveSufficed) {
  auto blocks = carve({20 * 1024, 512, 20 * 1024});
  blocks[0].reset();
  blocks[2].reset();
  try {
    pool_.allocate(30 * 1024, {.op = "linear", .layer = "fc1", .phase = Phase::kForward});
    FAIL() << "expected OutOfMemory";
  } catch (const OutOfMemory& refusal) {
    EXPECT_EQ(refusal.facts().shortage, Shortage::kFragmentation);
    EXPECT_EQ(refusal.facts().largest_free_block_bytes, 20 * 1024u);
    EXPECT_EQ(refusal.facts().allocated_bytes, 512u);
    EXPECT_EQ(refusal.facts().capacity_bytes, 64 * 1024u);
    EXPECT_EQ(refusal.facts().requested_bytes, 30 * 1024u);
    EXPECT_EQ(refusal.facts().request, "linear of fc1 (forward, unknown)");
  }
  EXPECT_EQ(pool_.statistics().out_of_memory, 1u);
  EXPECT_EQ(pool_.statistics().flushes, 0u) << "there was nothing unsplit to give back";
}

TEST_F(BestFitPoolTest, SaysTheDeviceIsFullWhenFreeBytesWouldNotHaveSufficed) {
  Block live = pool_.allocate(40 * 1024);
  try {
    pool_.allocate(30 * 1024);
    FAIL() << "expected OutOfMemory";
  } catch (const OutOfMemory& refusal) {
    EXPECT_EQ(refusal.facts().shortage, Shortage::kDevice);
    EXPECT_EQ(refusal.facts().where, "best-fit-pool on simulated");
  }
}

TEST_F(BestFitPoolTest, ReleaseCachedGivesBackWhatIsWhollyFree) {
  auto blocks = carve({1024, 512});
  pool_.allocate(8192).reset();
  blocks[0].reset();
  pool_.release_cached();
  EXPECT_EQ(pool_.statistics().reserved_bytes, 1536u);
  blocks.clear();
  pool_.release_cached();
  EXPECT_EQ(pool_.statistics().reserved_bytes, 0u);
  EXPECT_EQ(pool_.statistics().flushes, 0u);
  EXPECT_EQ(pool_.statistics().largest_free_block_bytes, 0u);
}

}  // namespace
}  // namespace skyline
