#include "memory/allocators/caching_allocator.h"

#include <gtest/gtest.h>

#include <limits>

#include "memory/device/simulated_device.h"
#include "tests/memory/units.h"

namespace skyline {
namespace {

class CachingAllocatorTest : public testing::Test {
 protected:
  SimulatedDevice device_{100 * kMiB};
  CachingAllocator caching_{device_};

  std::size_t reserved() const { return caching_.statistics().reserved_bytes; }
  std::size_t allocated() const { return caching_.statistics().allocated_bytes; }
};

TEST_F(CachingAllocatorTest, SegmentsHaveThreeSizes) {
  Block small = caching_.allocate(kMiB);
  EXPECT_EQ(reserved(), 2 * kMiB);
  Block large = caching_.allocate(kMiB + 1);
  EXPECT_EQ(reserved(), 22 * kMiB);
  Block own = caching_.allocate(19 * kMiB + 1);
  EXPECT_EQ(reserved(), 42 * kMiB) << "rounded up to 2 MiB";
}

TEST_F(CachingAllocatorTest, FromTenMiBARequestHasASegmentOfItsOwn) {
  Block below = caching_.allocate(10 * kMiB - 512);
  EXPECT_EQ(reserved(), 20 * kMiB);
  Block wall = caching_.allocate(10 * kMiB - 512);  // fills the segment
  Block own = caching_.allocate(10 * kMiB);
  EXPECT_EQ(reserved(), 30 * kMiB);
}

TEST_F(CachingAllocatorTest, SmallBlocksSplitFrom512BytesOn) {
  Block a = caching_.allocate(kMiB), b = caching_.allocate(kMiB - 512);
  EXPECT_EQ(caching_.statistics().largest_free_block_bytes, 512u);
  Block c = caching_.allocate(1);
  EXPECT_EQ(reserved(), 2 * kMiB);
  EXPECT_EQ(c.address(), b.address() + kMiB - 512);
}

TEST_F(CachingAllocatorTest, LargeBlocksSplitAboveOneMiB) {
  Block a = caching_.allocate(9 * kMiB), b = caching_.allocate(10 * kMiB);
  EXPECT_EQ(allocated(), 20 * kMiB) << "1 MiB would have remained";
  b.reset();
  b = caching_.allocate(10 * kMiB - 512);
  EXPECT_EQ(allocated(), 19 * kMiB - 512);
  EXPECT_EQ(reserved(), 20 * kMiB);
}

TEST_F(CachingAllocatorTest, PoolsDoNotShare) {
  caching_.allocate(20 * kMiB).reset();
  Block small = caching_.allocate(1000);
  EXPECT_EQ(reserved(), 22 * kMiB);
}

TEST_F(CachingAllocatorTest, TakesTheSmallestBlockAndAmongEqualsTheLowest) {
  Block a = caching_.allocate(4096), wall_a = caching_.allocate(1), b = caching_.allocate(2048);
  Block wall_b = caching_.allocate(1), c = caching_.allocate(2048), wall_c = caching_.allocate(1);
  std::byte* lowest = b.address();
  a.reset();
  c.reset();
  b.reset();
  EXPECT_EQ(caching_.allocate(1600).address(), lowest);
}

TEST_F(CachingAllocatorTest, GivesWhollyFreeSegmentsOfBothPoolsBackUnderPressure) {
  Block live = caching_.allocate(2 * kMiB);
  caching_.allocate(1000).reset();
  caching_.allocate(30 * kMiB).reset();
  EXPECT_EQ(reserved(), 52 * kMiB);
  Block big = caching_.allocate(60 * kMiB);
  EXPECT_EQ(reserved(), 80 * kMiB);
  EXPECT_EQ(caching_.statistics().flushes, 1u);
  EXPECT_EQ(caching_.statistics().device_frees, 2u);
}

TEST_F(CachingAllocatorTest, SaysFragmentationWhenFreeBytesWouldHaveSufficed) {
  constexpr std::size_t kHalf = 19 * kMiB / 2;
  Block a = caching_.allocate(kHalf), b = caching_.allocate(kHalf), c = caching_.allocate(kHalf);
  Block d = caching_.allocate(kHalf), rest = caching_.allocate(60 * kMiB);
  a.reset();
  c.reset();
  try {
    caching_.allocate(15 * kMiB, {.op = "conv2d", .layer = "conv1"});
    FAIL() << "served";
  } catch (const OutOfMemory& refusal) {
    EXPECT_EQ(refusal.facts().shortage, Shortage::kFragmentation);
    EXPECT_EQ(refusal.facts().largest_free_block_bytes, kHalf);
    EXPECT_EQ(refusal.facts().where, "caching on simulated");
    EXPECT_EQ(refusal.facts().request, "conv2d of conv1 (outside, unknown)");
  }
  EXPECT_EQ(caching_.statistics().flushes, 0u);
}

TEST_F(CachingAllocatorTest, SaysTheDeviceIsFullWhenFreeBytesWouldNotHaveSufficed) {
  Block a = caching_.allocate(90 * kMiB);
  try {
    caching_.allocate(30 * kMiB);
    FAIL() << "served";
  } catch (const OutOfMemory& refusal) {
    EXPECT_EQ(refusal.facts().shortage, Shortage::kDevice);
    EXPECT_EQ(refusal.facts().largest_free_block_bytes, 0u);
  }
  EXPECT_THROW(caching_.allocate(std::numeric_limits<std::size_t>::max()), OutOfMemory);
}

TEST_F(CachingAllocatorTest, ReleaseCachedKeepsSegmentsInUse) {
  Block a = caching_.allocate(1000), b = caching_.allocate(3 * kMiB);
  caching_.allocate(18 * kMiB).reset();
  a.reset();
  caching_.release_cached();
  EXPECT_EQ(reserved(), 20 * kMiB);
  EXPECT_EQ(caching_.statistics().flushes, 0u);
}

}  // namespace
}  // namespace skyline
