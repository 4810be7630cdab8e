// Segments of the pools that split and merge, and their snapshots.
#include "memory/allocators/segments.h"

#include <gtest/gtest.h>

#include "memory/allocators/allocators.h"
#include "memory/device/simulated_device.h"

namespace skyline {
namespace {

TEST(FreeIndex, OrdersBySizeThenAddress) {
  std::byte memory[4];
  std::deque<Chunk> chunks(4);
  FreeIndex index;
  const std::size_t bytes[] = {20, 10, 20, 30};
  for (const std::size_t i : {3u, 2u, 1u, 0u}) {
    chunks[i].address = memory + i;
    chunks[i].bytes = bytes[i];
    index.insert(chunks[i]);
    EXPECT_TRUE(chunks[i].free());
  }
  EXPECT_EQ(index.largest_bytes(), 30u);
  EXPECT_EQ(index.at_least(11)->chunk, &chunks[0]) << "the lower one of two";
  index.remove(chunks[0]);
  EXPECT_EQ(index.at_least(11)->chunk, &chunks[2]);
  EXPECT_EQ(index.at_least(10)->chunk, &chunks[1]);
  EXPECT_EQ(index.at_least(31), index.end());
  index.remove(chunks[3]);
  EXPECT_EQ(index.largest_bytes(), 20u);
}

// The new key stays between its neighbours, or does not.
TEST(FreeIndex, ReplacesInPlaceOrElsewhere) {
  std::byte memory[4];
  std::deque<Chunk> chunks(4);
  FreeIndex index;
  for (std::size_t i = 0; i < 3; ++i) {
    chunks[i].address = memory + i;
    chunks[i].bytes = 10 * (i + 1);
    index.insert(chunks[i]);
  }
  const auto order = [&index] {
    std::vector<std::size_t> bytes;
    for (const FreeIndex::Entry& entry : index) {
      EXPECT_EQ(entry.bytes, entry.chunk->bytes);
      bytes.push_back(entry.bytes);
    }
    return bytes;
  };
  chunks[1].bytes = 25;
  index.replace(chunks[1], chunks[1]);
  EXPECT_EQ(order(), (std::vector<std::size_t>{10, 25, 30}));
  chunks[1].bytes = 5;
  index.replace(chunks[1], chunks[1]);
  EXPECT_EQ(order(), (std::vector<std::size_t>{5, 10, 30}));
  chunks[3].address = memory + 3;
  for (const std::size_t bytes : {7u, 40u}) {
    chunks[3].bytes = bytes;
    index.replace(chunks[1], chunks[3]);
    EXPECT_EQ(index.at_least(bytes)->chunk, &chunks[3]);
    index.replace(chunks[3], chunks[1]);
    EXPECT_EQ(order(), (std::vector<std::size_t>{5, 10, 30}));
  }
  for (std::size_t i = 0; i < 3; ++i) index.remove(chunks[i]);
  EXPECT_TRUE(order().empty());
  index.insert(chunks[3]);
  EXPECT_EQ(order(), (std::vector<std::size_t>{40}));
}

class SegmentsTest : public testing::Test {
 protected:
  SimulatedDevice device_{4096};
  Segments segments_{device_, "test"};
  FreeIndex free_;
};

TEST_F(SegmentsTest, SplitsAndMergesBack) {
  segments_.reserve_chunks();
  Chunk& first = segments_.take(4096);
  Chunk& middle = segments_.split(first, 1024);
  Chunk& end = segments_.split(middle, 512);
  EXPECT_EQ(end.address, first.address + 1536);
  EXPECT_EQ(end.bytes, 2560u);
  const Tag tag;
  for (Chunk* chunk : {&first, &middle, &end}) {
    segments_.serve(*chunk, {chunk->bytes - 1, chunk->bytes, tag});
  }
  segments_.release(first, free_);
  segments_.release(end, free_);
  EXPECT_EQ(free_.largest_bytes(), 2560u);
  Chunk& whole = segments_.release(middle, free_);
  EXPECT_EQ(whole.bytes, 4096u);
  EXPECT_TRUE(whole.unsplit());
  EXPECT_EQ(segments_.give_back_unsplit(free_), 4096u);
  EXPECT_EQ(device_.statistics().reserved_bytes, 0u);
  EXPECT_EQ(segments_.account().now().device_frees, 1u);
}

TEST_F(SegmentsTest, SnapshotsNameThePool) {
  segments_.reserve_chunks();
  Chunk& chunk = segments_.take(2048);
  chunk.pool = 1;
  free_.insert(segments_.split(chunk, 512));
  const Tag tag;
  segments_.serve(chunk, {300, 512, tag});
  constexpr std::string_view kNames[] = {"a", "b"};
  const auto shown = segments_.snapshot(kNames);
  ASSERT_EQ(shown.size(), 1u);
  EXPECT_EQ(shown[0],
            (Segment{chunk.address,
                     2048,
                     "b",
                     {{chunk.address, 512, 300, true}, {chunk.address + 512, 1536, 0, false}}}));
}

// Blocks are contiguous, fill their segment, and add up to the statistics.
TEST(AllocatorSegments, AddUpUnderEveryAllocatorOfTheTable) {
  for (const AllocatorEntry& entry : allocator_table()) {
    SCOPED_TRACE(entry.name);
    SimulatedDevice device;
    const auto allocator = make_allocator(entry.name, device);
    std::vector<Block> blocks;
    for (std::size_t i = 0; i < 60; ++i) blocks.push_back(allocator->allocate(i * i * 3000));
    for (std::size_t i = 0; i < 60; i += 3) blocks[i].reset();
    Statistics seen;
    const std::byte* end = nullptr;
    for (const Segment& segment : allocator->segments()) {
      EXPECT_GE(segment.address, end);
      end = segment.address;
      for (const SegmentBlock& block : segment.blocks) {
        EXPECT_EQ(block.address, end);
        end += block.bytes;
        seen.requested_bytes += block.requested_bytes;
        seen.allocated_bytes += block.used ? block.bytes : 0;
      }
      EXPECT_EQ(end, segment.address + segment.bytes);
      seen.reserved_bytes += segment.bytes;
    }
    EXPECT_EQ(seen.reserved_bytes, allocator->statistics().reserved_bytes);
    EXPECT_EQ(seen.allocated_bytes, allocator->statistics().allocated_bytes);
    EXPECT_EQ(seen.requested_bytes, allocator->statistics().requested_bytes);
  }
}

}  // namespace
}  // namespace skyline
