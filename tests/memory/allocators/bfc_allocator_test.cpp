#include "memory/allocators/bfc_allocator.h"

#include <gtest/gtest.h>

#include <limits>

#include "memory/device/simulated_device.h"
#include "tests/memory/device/refusing_device.h"
#include "tests/memory/units.h"

namespace skyline {
namespace {

class BfcAllocatorTest : public testing::Test {
 protected:
  SimulatedDevice device_;
  BfcAllocator bfc_{device_};

  std::size_t reserved() const { return bfc_.statistics().reserved_bytes; }
};

TEST_F(BfcAllocatorTest, RegionsDouble) {
  Block a = bfc_.allocate(2 * kMiB);
  EXPECT_EQ(reserved(), 2 * kMiB);
  Block b = bfc_.allocate(4 * kMiB);
  EXPECT_EQ(reserved(), (2 + 4) * kMiB);
  Block c = bfc_.allocate(8 * kMiB);
  EXPECT_EQ(reserved(), (2 + 4 + 8) * kMiB);
}

TEST_F(BfcAllocatorTest, ARegionThatWasDoubledForItsRequestDoesNotDoubleTheNext) {
  Block a = bfc_.allocate(20 * kMiB);
  EXPECT_EQ(reserved(), 32 * kMiB);
  Block b = bfc_.allocate(20 * kMiB);
  EXPECT_EQ(reserved(), 64 * kMiB);
  Block c = bfc_.allocate(20 * kMiB);
  EXPECT_EQ(reserved(), 128 * kMiB);
}

TEST(BfcOptionsTest, RegionsNeverDoubleBeyondWhatNumbersHold) {
  SimulatedDevice device;
  constexpr std::size_t kLimit = std::size_t{1} << 40;
  BfcAllocator bfc(device, {.growth = true, .limit_bytes = kLimit});
  for (int i = 0; i < 50; ++i) {  // each success doubles the next
    bfc.allocate(kLimit / 2 + 1).reset();
    EXPECT_EQ(bfc.statistics().reserved_bytes, kLimit);
    bfc.release_cached();
  }
}

TEST_F(BfcAllocatorTest, SplitsFromTwiceTheRequestOn) {
  Block half = bfc_.allocate(kMiB);
  EXPECT_EQ(bfc_.statistics().allocated_bytes, kMiB);
  Block most = bfc_.allocate(kMiB / 2 + 256);
  EXPECT_EQ(bfc_.statistics().allocated_bytes, 2 * kMiB) << "all of the other half";
  EXPECT_EQ(reserved(), 2 * kMiB);
}

TEST_F(BfcAllocatorTest, SplitsWhatWouldWaste128MiB) {
  SimulatedDevice device;
  BfcAllocator bfc(device, {.growth = false, .limit_bytes = 320 * kMiB});
  Block most = bfc.allocate(192 * kMiB + 256);
  EXPECT_EQ(bfc.statistics().allocated_bytes, 320 * kMiB);
  most.reset();
  most = bfc.allocate(192 * kMiB);
  EXPECT_EQ(bfc.statistics().allocated_bytes, 192 * kMiB);
}

TEST_F(BfcAllocatorTest, TakesTheSmallestChunkThatFits) {
  Block big = bfc_.allocate(256 * 40), wall = bfc_.allocate(1), small = bfc_.allocate(256 * 12);
  Block wall_2 = bfc_.allocate(1);
  std::byte* expected = small.address();
  big.reset();
  small.reset();
  EXPECT_EQ(bfc_.allocate(256 * 11).address(), expected);
}

TEST_F(BfcAllocatorTest, MergesNeighboursOfARegionOnly) {
  std::vector<Block> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(bfc_.allocate(kMiB / 2));
  blocks.push_back(bfc_.allocate(4 * kMiB));
  blocks[0].reset();
  blocks[2].reset();
  EXPECT_EQ(bfc_.statistics().largest_free_block_bytes, kMiB / 2);
  blocks[1].reset();
  EXPECT_EQ(bfc_.statistics().largest_free_block_bytes, 3 * kMiB / 2);
  blocks.clear();
  EXPECT_EQ(bfc_.statistics().largest_free_block_bytes, 4 * kMiB);
}

TEST(BfcOptionsTest, WithoutGrowthTheWholeLimitIsOneRegion) {
  SimulatedDevice device(100 * kMiB);
  BfcAllocator all(device, {.growth = false, .limit_bytes = {}});
  all.allocate(1).reset();
  EXPECT_EQ(all.statistics().reserved_bytes, 100 * kMiB);
  all.release_cached();
  EXPECT_EQ(all.statistics().reserved_bytes, 0u);
  BfcAllocator some(device, {.growth = false, .limit_bytes = 30 * kMiB});
  Block block = some.allocate(1);
  EXPECT_EQ(some.statistics().reserved_bytes, 30 * kMiB);
}

TEST(BfcOptionsTest, TheLastRegionIsWhatRemainsOfTheLimit) {
  SimulatedDevice device;
  BfcAllocator bfc(device, {.growth = true, .limit_bytes = 5 * kMiB + 100});
  Block a = bfc.allocate(2 * kMiB), b = bfc.allocate(3 * kMiB);
  EXPECT_EQ(bfc.statistics().reserved_bytes, 5 * kMiB);
  try {
    bfc.allocate(1);
    FAIL() << "expected OutOfMemory";
  } catch (const OutOfMemory& refusal) {
    EXPECT_EQ(refusal.facts().shortage, Shortage::kLimit);
    EXPECT_EQ(refusal.facts().capacity_bytes, 5 * kMiB + 100);
    EXPECT_EQ(refusal.facts().where, "bfc on simulated");
  }
}

TEST(BfcOptionsTest, ALimitAboveTheCapacityIsTheCapacity) {
  SimulatedDevice device(6 * kMiB);
  BfcAllocator bfc(device, {.growth = true, .limit_bytes = 64 * 1024 * kMiB});
  Block a = bfc.allocate(2 * kMiB), b = bfc.allocate(4 * kMiB);
  try {
    bfc.allocate(1);
    FAIL() << "expected OutOfMemory";
  } catch (const OutOfMemory& refusal) {
    EXPECT_EQ(refusal.facts().shortage, Shortage::kDevice);
    EXPECT_EQ(refusal.facts().capacity_bytes, 6 * kMiB);
  }
}

TEST(BfcRefusalTest, SaysFragmentationWhenFreeBytesWouldHaveSufficed) {
  SimulatedDevice device(4 * kMiB);
  BfcAllocator bfc(device, {.growth = false, .limit_bytes = {}});
  std::vector<Block> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(bfc.allocate(kMiB));
  blocks[0].reset();
  blocks[2].reset();
  try {
    bfc.allocate(2 * kMiB);
    FAIL() << "expected OutOfMemory";
  } catch (const OutOfMemory& refusal) {
    EXPECT_EQ(refusal.facts().shortage, Shortage::kFragmentation);
    EXPECT_EQ(refusal.facts().largest_free_block_bytes, kMiB);
  }
  EXPECT_EQ(bfc.statistics().flushes, 0u);
  EXPECT_THROW(bfc.allocate(std::numeric_limits<std::size_t>::max()), OutOfMemory);
}

TEST(BfcRefusalTest, TheFirstRefusedRegionStepsBackByTenths) {
  SimulatedDevice device(100 * kMiB);
  std::byte* others = device.allocate(30 * kMiB);
  BfcAllocator bfc(device, {.growth = false, .limit_bytes = {}});
  Block block = bfc.allocate(1);
  const double expected = 0.9 * 0.9 * 0.9 * 0.9 * 100 * kMiB;  // the first below 70 MiB
  EXPECT_NEAR(static_cast<double>(bfc.statistics().reserved_bytes), expected, 4 * 256);
  EXPECT_EQ(bfc.statistics().device_allocations, 1u);
  // Only once: it does not search for the rest of the device.
  std::vector<Block> blocks;
  blocks.push_back(bfc.allocate(bfc.statistics().largest_free_block_bytes));
  EXPECT_THROW(bfc.allocate(kMiB), OutOfMemory);
  blocks.clear();
  block.reset();
  bfc.release_cached();
  device.deallocate(others, 30 * kMiB);
}

TEST(BfcRefusalTest, ARegionStepsBackNoFurtherThanItsRequest) {
  SimulatedDevice memory;
  RefusingDevice device(memory);
  BfcAllocator bfc(device, {.growth = true, .limit_bytes = 100 * kMiB});
  device.refuse_from(0);
  EXPECT_THROW(bfc.allocate(256), OutOfMemory);
  device.serve_all();
  EXPECT_EQ(bfc.allocate(256).bytes(), 256u);
}

TEST(BfcRefusalTest, ARefusedRequestDoesNotMoveTheNextRegion) {
  SimulatedDevice memory;
  RefusingDevice device(memory);
  BfcAllocator bfc(device);
  device.refuse_from(0);
  EXPECT_THROW(bfc.allocate(30 * kMiB), OutOfMemory);
  device.serve_all();
  Block block = bfc.allocate(1);
  EXPECT_EQ(bfc.statistics().reserved_bytes, 2 * kMiB);
}

}  // namespace
}  // namespace skyline
