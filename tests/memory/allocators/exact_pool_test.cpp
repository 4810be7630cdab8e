#include "memory/allocators/exact_pool.h"

#include <gtest/gtest.h>

#include <limits>

#include "memory/device/simulated_device.h"

namespace skyline {
namespace {

class ExactPoolTest : public testing::Test {
 protected:
  SimulatedDevice device_{64 * 1024};
  ExactPool pool_{device_};
};

TEST_F(ExactPoolTest, RoundsToUnitsOf256) {
  Block none = pool_.allocate(0), one = pool_.allocate(1), more = pool_.allocate(257);
  EXPECT_EQ(pool_.statistics().allocated_bytes, 256u + 256u + 512u);
  EXPECT_EQ(pool_.statistics().reserved_bytes, 1024u);
}

TEST_F(ExactPoolTest, ReusesOnlyTheSameSize) {
  std::byte* address = pool_.allocate(1000).address();
  Block larger = pool_.allocate(1025), smaller = pool_.allocate(700);
  EXPECT_EQ(pool_.statistics().device_allocations, 3u);
  EXPECT_EQ(pool_.allocate(800).address(), address) << "1024 as well";
}

TEST_F(ExactPoolTest, TheLastFreedBlockComesFirst) {
  Block a = pool_.allocate(512), b = pool_.allocate(512), c = pool_.allocate(512);
  std::byte *first = a.address(), *second = c.address(), *third = b.address();
  b.reset();
  c.reset();
  a.reset();
  Block x = pool_.allocate(512), y = pool_.allocate(512), z = pool_.allocate(512);
  EXPECT_EQ(x.address(), first);
  EXPECT_EQ(y.address(), second);
  EXPECT_EQ(z.address(), third);
}

TEST_F(ExactPoolTest, GivesEverythingFreeBackUnderPressure) {
  pool_.allocate(24 * 1024).reset();
  pool_.allocate(8 * 1024).reset();
  Block live = pool_.allocate(20 * 1024);
  Block big = pool_.allocate(40 * 1024);
  EXPECT_EQ(pool_.statistics().flushes, 1u);
  EXPECT_EQ(pool_.statistics().device_frees, 2u);
  EXPECT_EQ(pool_.statistics().reserved_bytes, 60 * 1024u);
  EXPECT_EQ(pool_.statistics().largest_free_block_bytes, 0u);
}

TEST_F(ExactPoolTest, ARefusalIsAlwaysATrueShortage) {
  Block live = pool_.allocate(40 * 1024);
  pool_.allocate(20 * 1024).reset();
  try {
    pool_.allocate(25 * 1024, {.op = "linear", .layer = "fc1", .phase = Phase::kForward});
    FAIL() << "expected OutOfMemory";
  } catch (const OutOfMemory& refusal) {
    EXPECT_EQ(refusal.facts().shortage, Shortage::kDevice);
    EXPECT_EQ(refusal.facts().where, "exact-pool on simulated");
    EXPECT_EQ(refusal.facts().request, "linear of fc1 (forward, unknown)");
    EXPECT_EQ(refusal.facts().largest_free_block_bytes, 0u) << "the cache was flushed";
    EXPECT_EQ(refusal.facts().reserved_bytes, 40 * 1024u);
  }
  EXPECT_EQ(pool_.statistics().out_of_memory, 1u);
  EXPECT_THROW(pool_.allocate(std::numeric_limits<std::size_t>::max()), OutOfMemory);
}

TEST_F(ExactPoolTest, SegmentsAreBlocks) {
  Block live = pool_.allocate(1000);
  pool_.allocate(300).reset();
  const auto segments = pool_.segments();
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_EQ(segments[0].blocks, (std::vector<SegmentBlock>{{live.address(), 1024, 1000, true}}));
  EXPECT_EQ(segments[1].bytes, 512u);
  EXPECT_FALSE(segments[1].blocks[0].used);
}

}  // namespace
}  // namespace skyline
