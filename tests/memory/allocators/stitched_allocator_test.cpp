#include "memory/allocators/stitched_allocator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <vector>

#include "memory/device/simulated_device.h"
#include "tests/memory/planners/effort.h"
#include "tests/memory/units.h"

namespace skyline {
namespace {

TEST(Stitched, GivesHalfAPageOrMorePagesOfItsOwn) {
  SimulatedDevice device;
  StitchedAllocator stitched(device);
  Block one = stitched.allocate(kMiB), two = stitched.allocate(2 * kMiB + 1);
  EXPECT_EQ(stitched.statistics().reserved_bytes, 6 * kMiB);
  EXPECT_EQ(stitched.statistics().allocated_bytes, 6 * kMiB);
  EXPECT_EQ(stitched.statistics().device_allocations, 2u);
}

TEST(Stitched, LetsSmallBlocksSharePages) {
  SimulatedDevice device;
  StitchedAllocator stitched(device);
  std::vector<Block> blocks;
  for (int i = 0; i < 5; ++i) blocks.push_back(stitched.allocate(kMiB - 512));
  EXPECT_EQ(stitched.statistics().reserved_bytes, 6 * kMiB) << "two a page";
  blocks[1].reset();
  blocks[1] = stitched.allocate(1000);
  EXPECT_EQ(stitched.statistics().reserved_bytes, 6 * kMiB);
}

TEST(Stitched, KeepsAMappingForTheNextRequestOfAsManyPages) {
  SimulatedDevice device;
  StitchedAllocator stitched(device);
  const std::byte* address = stitched.allocate(5 * kMiB).address();
  EXPECT_EQ(stitched.allocate(6 * kMiB).address(), address) << "three pages, too";
  EXPECT_EQ(stitched.statistics().device_allocations, 1u);
  EXPECT_EQ(stitched.statistics().device_frees, 0u);
}

// The pages of two blocks serve one of twice their size, which no pool of segments can do.
TEST(Stitched, LaysFreedPagesBehindAnotherRange) {
  SimulatedDevice device;
  StitchedAllocator stitched(device);
  std::vector<Block> small;
  for (int i = 0; i < 8; ++i) small.push_back(stitched.allocate(16 * kMiB));
  small.clear();
  for (int i = 0; i < 4; ++i) small.push_back(stitched.allocate(32 * kMiB));
  EXPECT_EQ(stitched.statistics().peak_reserved_bytes, 128 * kMiB);
  EXPECT_EQ(stitched.statistics().device_allocations, 12u);
  EXPECT_EQ(stitched.statistics().device_frees, 8u);
}

TEST(Stitched, UnmapsTheSmallestRangeThatSuffices) {
  SimulatedDevice device;
  StitchedAllocator stitched(device);
  Block four = stitched.allocate(4 * kMiB), six = stitched.allocate(6 * kMiB),
        ten = stitched.allocate(10 * kMiB);
  four.reset();
  six.reset();
  ten.reset();
  Block two = stitched.allocate(2 * kMiB);  // takes the place of four
  EXPECT_EQ(stitched.statistics().reserved_bytes, 18 * kMiB);
  Block again = stitched.allocate(6 * kMiB);
  EXPECT_EQ(stitched.statistics().device_frees, 1u) << "six was still mapped";
}

// Pages in use by small blocks are as the allocator lays them, so only large ones have a model.
TEST(Stitched, ReservesThePeakOfThePagesInUse) {
  for (const std::uint64_t seed : seeds(200)) {
    std::mt19937_64 random(seed);
    const std::size_t page = std::size_t{512} << random() % 8;
    SimulatedDevice device;
    StitchedAllocator stitched(device, {.page_bytes = page});
    std::vector<Block> live;
    std::size_t in_use = 0, peak = 0;
    for (int event = 0; event < 300; ++event) {
      if (live.size() > random() % 12) {
        const std::size_t index = random() % live.size();
        in_use -= align_up(live[index].bytes(), page);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(index));
        continue;
      }
      live.push_back(stitched.allocate(page / 2 + 1 + random() % (5 * page)));
      peak = std::max(peak, in_use += align_up(live.back().bytes(), page));
      ASSERT_EQ(stitched.statistics().peak_reserved_bytes, peak) << "seed " << seed;
    }
    stitched.release_cached();
    EXPECT_EQ(stitched.statistics().reserved_bytes, in_use);
  }
}

TEST(Stitched, ReservesTheLowerBoundWithPagesOf512Bytes) {
  for (const std::uint64_t seed : seeds(100)) {
    std::mt19937_64 random(seed);
    SimulatedDevice device;
    StitchedAllocator stitched(device, {.page_bytes = 512});
    std::vector<Block> blocks(20);
    for (int event = 0; event < 300; ++event) {
      Block& block = blocks[random() % blocks.size()];
      block.reset();
      block = stitched.allocate(random() % 9000);
    }
    const Statistics statistics = stitched.statistics();
    EXPECT_EQ(statistics.peak_reserved_bytes, statistics.peak_rounded_bytes) << "seed " << seed;
  }
}

TEST(Stitched, UnmapsAllBeforeItRefuses) {
  SimulatedDevice device(8 * kMiB);
  StitchedAllocator stitched(device);
  Block kept = stitched.allocate(100);
  stitched.allocate(6 * kMiB).reset();
  EXPECT_EQ(stitched.allocate(4 * kMiB).bytes(), 4 * kMiB) << "below the peak";
  EXPECT_EQ(stitched.statistics().flushes, 0u);
  EXPECT_THROW(stitched.allocate(8 * kMiB), OutOfMemory);
  EXPECT_EQ(stitched.statistics().reserved_bytes, 2 * kMiB);
}

TEST(Stitched, RefusesPagesThatAreNoMultipleOf512) {
  SimulatedDevice device;
  for (const std::uint64_t page : {0u, 511u, 1000u}) {
    EXPECT_THROW(StitchedAllocator(device, {.page_bytes = page}), std::invalid_argument);
  }
}

}  // namespace
}  // namespace skyline
