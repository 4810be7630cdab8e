// Every option of the caching allocator acts: the same requests with and without it differ.
#include <gtest/gtest.h>

#include <stdexcept>

#include "memory/allocators/caching_allocator.h"
#include "memory/device/simulated_device.h"
#include "tests/memory/units.h"

namespace skyline {
namespace {

std::size_t reserved(const CachingAllocator& allocator) {
  return allocator.statistics().reserved_bytes;
}

// A free 40 MiB segment, then two requests of 9 MiB.
std::size_t reserved_after_small_requests(const CachingOptions& options) {
  SimulatedDevice device;
  CachingAllocator caching(device, options);
  caching.allocate(40 * kMiB).reset();
  Block a = caching.allocate(9 * kMiB), b = caching.allocate(9 * kMiB);
  return reserved(caching);
}

TEST(MaxSplitSize, KeepsOversizeBlocksForOversizeRequests) {
  EXPECT_EQ(reserved_after_small_requests({}), 40 * kMiB);
  EXPECT_EQ(reserved_after_small_requests({.max_split_bytes = 41 * kMiB}), 40 * kMiB);
  EXPECT_EQ(reserved_after_small_requests({.max_split_bytes = 40 * kMiB}), 60 * kMiB);
}

// A free block of 60 MiB, then an oversize request.
Statistics after_oversize_request(std::size_t bytes, const CachingOptions& options) {
  SimulatedDevice device;
  CachingAllocator caching(device, options);
  caching.allocate(60 * kMiB).reset();
  Block block = caching.allocate(bytes);
  return caching.statistics();
}

TEST(MaxSplitSize, AnOversizeRequestTakesABlockOfLessThanTwentyMiBMore) {
  const CachingOptions options{.max_split_bytes = 30 * kMiB};
  const Statistics close = after_oversize_request(40 * kMiB + 512, options);
  EXPECT_EQ(close.reserved_bytes, 60 * kMiB);
  EXPECT_EQ(close.allocated_bytes, 60 * kMiB) << "never split";
  EXPECT_EQ(after_oversize_request(40 * kMiB, options).reserved_bytes, 100 * kMiB);
  EXPECT_EQ(after_oversize_request(40 * kMiB, {}).reserved_bytes, 60 * kMiB);
  EXPECT_EQ(after_oversize_request(40 * kMiB, {}).allocated_bytes, 40 * kMiB);
}

TEST(MaxSplitSize, OversizeBlocksGoFirstUnderPressure) {
  const auto device_frees = [](const CachingOptions& options) {
    SimulatedDevice device(120 * kMiB);
    CachingAllocator caching(device, options);
    Block a = caching.allocate(40 * kMiB), b = caching.allocate(50 * kMiB);
    caching.allocate(1000).reset();
    Block c = caching.allocate(2 * kMiB);
    c.reset();
    a.reset();
    b.reset();
    Block big = caching.allocate(45 * kMiB + 20 * kMiB);
    EXPECT_EQ(caching.statistics().flushes, 1u);
    return caching.statistics().device_frees;
  };
  EXPECT_EQ(device_frees({}), 4u) << "everything";
  EXPECT_EQ(device_frees({.max_split_bytes = 30 * kMiB}), 2u) << "the two that hold it together";
}

TEST(MaxSplitSize, OneOversizeBlockThatHoldsTheRequestIsEnough) {
  SimulatedDevice device(140 * kMiB);
  CachingAllocator caching(device, {.max_split_bytes = 30 * kMiB});
  Block a = caching.allocate(60 * kMiB), b = caching.allocate(70 * kMiB);
  a.reset();
  b.reset();
  Block c = caching.allocate(32 * kMiB);
  EXPECT_EQ(reserved(caching), 102 * kMiB) << "60 MiB went, the smaller one";
  EXPECT_EQ(caching.statistics().device_frees, 1u);
}

// The largest free piece beside a block of little more than 1 MiB is just below the option.
TEST(MaxSplitSize, NoPieceOfASplitSegmentIsOversize) {
  SimulatedDevice device(64 * kMiB);
  CachingAllocator caching(device, {.max_split_bytes = 21 * kMiB});
  Block first = caching.allocate(20 * kMiB + 512), last = caching.allocate(kMiB + 512);
  EXPECT_EQ(reserved(caching), 22 * kMiB);
  first.reset();
  first = caching.allocate(kMiB + 512);
  last.reset();
  EXPECT_EQ(caching.statistics().largest_free_block_bytes, 21 * kMiB - 512);
  caching.allocate(42 * kMiB).reset();
  Block big = caching.allocate(21 * kMiB);  // under pressure: the 42 MiB go, the piece stays
  EXPECT_EQ(reserved(caching), 44 * kMiB);
  EXPECT_EQ(caching.statistics().device_frees, 1u);
}

// Segments of 30, 32, 34 … MiB, freed one after another; then a request that none of them holds.
Statistics after_growth(double threshold, std::size_t capacity_bytes = 200 * kMiB) {
  SimulatedDevice device(capacity_bytes);
  CachingAllocator caching(device, {.garbage_collection_threshold = threshold});
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < 4; ++i) blocks.push_back(caching.allocate((30 + 2 * i) * kMiB));
  for (Block& block : blocks) {
    block.reset();
    caching.allocate(12 * kMiB).reset();  // advances the large pool's clock
  }
  Block next = caching.allocate(50 * kMiB);
  return caching.statistics();
}

TEST(GarbageCollection, GivesOldSegmentsBackAboveTheThreshold) {
  const Statistics without = after_growth(0), with = after_growth(0.5);
  EXPECT_EQ(without.reserved_bytes, 182 * kMiB);
  EXPECT_EQ(without.device_frees, 0u);
  EXPECT_GT(with.device_frees, 0u);
  EXPECT_EQ(with.flushes, 0u) << "nothing was refused";
  EXPECT_LE(with.reserved_bytes, 100 * kMiB + 50 * kMiB);
}

TEST(GarbageCollection, RestsBelowTheThreshold) {
  EXPECT_EQ(after_growth(0.7).device_frees, 0u);
  EXPECT_EQ(after_growth(0.5, 400 * kMiB).device_frees, 0u);
}

TEST(GarbageCollection, TakesTheOldestFirst) {
  SimulatedDevice device(140 * kMiB);
  CachingAllocator caching(device, {.garbage_collection_threshold = 0.5});
  Block old = caching.allocate(24 * kMiB), young = caching.allocate(30 * kMiB);
  Block other = caching.allocate(2 * kMiB);
  std::byte* kept = young.address();
  old.reset();
  for (int i = 0; i < 10; ++i) caching.allocate(2 * kMiB).reset();  // advances the clock
  young.reset();
  EXPECT_EQ(reserved(caching), (24 + 30 + 20) * kMiB);
  Block next = caching.allocate(40 * kMiB);
  EXPECT_EQ(reserved(caching), (30 + 20 + 40) * kMiB);
  EXPECT_EQ(caching.allocate(30 * kMiB).address(), kept);
}

// Blocks that grow a little each time: no segment holds the next one.
Statistics after_growing_requests(const CachingOptions& options) {
  SimulatedDevice device;
  CachingAllocator caching(device, options);
  for (std::size_t mib = 30; mib <= 60; mib += 10) caching.allocate(mib * kMiB).reset();
  return caching.statistics();
}

TEST(ExpandableSegments, GrowInsteadOfTakingAnotherSegment) {
  EXPECT_EQ(after_growing_requests({}).reserved_bytes, (30 + 40 + 50 + 60) * kMiB);
  const Statistics grown = after_growing_requests({.expandable_segments = true});
  EXPECT_EQ(grown.reserved_bytes, 60 * kMiB);
  EXPECT_EQ(grown.device_allocations, 2u) << "to 40 MiB, then to 60 MiB";
}

TEST(ExpandableSegments, GrowInPagesOfTwoAndTwentyMiB) {
  SimulatedDevice device;
  CachingAllocator caching(device, {.expandable_segments = true});
  Block small = caching.allocate(1000);
  EXPECT_EQ(reserved(caching), 2 * kMiB);
  Block large = caching.allocate(21 * kMiB);
  EXPECT_EQ(reserved(caching), 42 * kMiB);
  Block rest = caching.allocate(19 * kMiB - 512);
  EXPECT_EQ(caching.statistics().largest_free_block_bytes, 2 * kMiB - 1024) << "any rest splits";
  const auto segments = caching.segments();
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_EQ(segments[0].pool, "small");
  EXPECT_EQ(segments[1].bytes, 40 * kMiB);
  EXPECT_EQ(segments[1].blocks.size(), 3u);
}

TEST(ExpandableSegments, TheLastBlockIsTakenOnlyWhenNoOtherFits) {
  SimulatedDevice device;
  CachingAllocator caching(device, {.expandable_segments = true});
  Block first = caching.allocate(12 * kMiB), wall = caching.allocate(kMiB + 512);
  std::byte* begin = first.address();
  first.reset();  // 12 MiB here, not quite 7 MiB at the end
  EXPECT_EQ(caching.allocate(5 * kMiB).address(), begin);
}

TEST(ExpandableSegments, PagesBehindTheLastBlockGoBackUnderPressure) {
  SimulatedDevice device(100 * kMiB);
  CachingAllocator caching(device, {.expandable_segments = true});
  Block first = caching.allocate(15 * kMiB), wall = caching.allocate(15 * kMiB);
  caching.allocate(60 * kMiB).reset();
  EXPECT_EQ(reserved(caching), 100 * kMiB);
  Block small = caching.allocate(1);
  EXPECT_EQ(reserved(caching), 42 * kMiB);
  EXPECT_EQ(caching.statistics().flushes, 1u);
  EXPECT_EQ(caching.statistics().device_frees, 1u);
  first.reset();
  caching.release_cached();
  EXPECT_EQ(reserved(caching), 42 * kMiB) << "pages before a used block stay";
  wall.reset();
  small.reset();
  caching.release_cached();
  EXPECT_EQ(reserved(caching), 0u);
  EXPECT_TRUE(caching.segments().empty());
}

TEST(ExpandableSegments, GrowsToTheLastByteOfTheDevice) {
  SimulatedDevice device(40 * kMiB);
  CachingAllocator caching(device, {.expandable_segments = true});
  Block first = caching.allocate(20 * kMiB), second = caching.allocate(20 * kMiB);
  EXPECT_EQ(reserved(caching), 40 * kMiB);
}

TEST(ExpandableSegments, ARefusalIsTheDevices) {
  SimulatedDevice device(30 * kMiB);
  CachingAllocator caching(device, {.expandable_segments = true});
  for (const std::size_t mib : {25u, 1000u}) {
    try {
      caching.allocate(mib * kMiB);
      FAIL() << "served";
    } catch (const OutOfMemory& refusal) {
      EXPECT_EQ(refusal.facts().shortage, mib == 25 ? Shortage::kSegment : Shortage::kDevice)
          << "pages of 20 MiB";
      EXPECT_EQ(refusal.facts().device_free_bytes, 30 * kMiB);
      EXPECT_EQ(refusal.facts().capacity_bytes, 30 * kMiB);
      EXPECT_EQ(refusal.facts().where, "caching on simulated");
    }
  }
}

TEST(RoundupPower2Divisions, RoundsToPartsOfThePowerOfTwoBelow) {
  const auto allocated = [](std::size_t bytes, std::uint64_t divisions) {
    SimulatedDevice device;
    CachingAllocator caching(device, {.roundup_power2_divisions = divisions});
    Block block = caching.allocate(bytes);
    return caching.statistics().allocated_bytes;
  };
  EXPECT_EQ(allocated(1200 * 1024, 1), 1200u * 1024);
  EXPECT_EQ(allocated(1200 * 1024, 4), 1280u * 1024) << "1, 1.25, 1.5, 1.75 and 2 MiB";
  EXPECT_EQ(allocated(1200 * 1024, 2), 1536u * 1024);
  EXPECT_EQ(allocated(kMiB, 4), kMiB);
  EXPECT_EQ(allocated(1500, 4), 1536u) << "up to 512 bytes a division it is 512 bytes";
  EXPECT_EQ(allocated(2100, 4), 2560u);
  EXPECT_EQ(allocated(2100, 2), 3072u);
}

TEST(CachingOptionsTest, RefusesWhatPyTorchRefuses) {
  SimulatedDevice device;
  EXPECT_THROW(CachingAllocator(device, {.max_split_bytes = 20 * kMiB}), std::invalid_argument);
  EXPECT_THROW(CachingAllocator(device, {.max_split_bytes = 21 * kMiB + 512}),
               std::invalid_argument);
  EXPECT_THROW(CachingAllocator(device, {.garbage_collection_threshold = 1.5}),
               std::invalid_argument);
  EXPECT_THROW(CachingAllocator(device, {.garbage_collection_threshold = -0.1}),
               std::invalid_argument);
  EXPECT_THROW(CachingAllocator(device, {.roundup_power2_divisions = 3}), std::invalid_argument);
  EXPECT_THROW(CachingAllocator(device, {.roundup_power2_divisions = 0}), std::invalid_argument);
}

TEST(RoundupDivisionsTest, ReadsPyTorchsListsBySize) {
  EXPECT_EQ(RoundupDivisions::read("4"), RoundupDivisions(4));
  const RoundupDivisions list = RoundupDivisions::read("[256:1,512:2,1024:4,>:8]");
  EXPECT_EQ(list.of(1), 1u) << "the first counts for smaller sizes, too";
  EXPECT_EQ(list.of(512 * kMiB - 1), 1u);
  EXPECT_EQ(list.of(512 * kMiB), 2u);
  EXPECT_EQ(list.of(1024 * kMiB), 4u);
  EXPECT_EQ(list.of(2048 * kMiB), 8u);
  EXPECT_EQ(list.of(std::uint64_t{1} << 62), 8u);
  EXPECT_EQ(list.text(), "[256:1,512:2,1024:4,>:8]");
  EXPECT_EQ(RoundupDivisions::read("[1:2,4:0,8:16]").text(), "[1:2,2:1,4:1,8:16,>:1]");
  for (const char* text : {"[>:4]", "[1:8]", "[32768:2]", "1", "1048576"}) {
    EXPECT_EQ(RoundupDivisions::read(RoundupDivisions::read(text).text()),
              RoundupDivisions::read(text))
        << text;
  }
}

TEST(RoundupDivisionsTest, RefusesWhatIsNoPowerOfTwo) {
  for (const char* text : {"", "3", "0", "-1", "2097152", "[", "[]", "[1]", "[1:3]", "[3:1]",
                           "[1:2", "1:2]", "[:2]", "[1:]", "[1:2,]", "[1:2]]", "[256:1 ,>:2]"}) {
    EXPECT_THROW(RoundupDivisions::read(text), std::invalid_argument) << text;
  }
}

}  // namespace
}  // namespace skyline
