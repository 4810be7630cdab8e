#include "memory/session/arena_fallback.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace skyline {
namespace {

TEST(OverdueBlocks, HalfOpenRangesThatTouchDoNotOverlap) {
  OverdueBlocks blocks;
  EXPECT_FALSE(blocks.overlaps(0, 1000));
  blocks.insert(512, {.bytes = 1024});
  EXPECT_FALSE(blocks.overlaps(0, 512));
  EXPECT_FALSE(blocks.overlaps(1536, 512));
  EXPECT_TRUE(blocks.overlaps(511, 2));
  EXPECT_TRUE(blocks.overlaps(1535, 1));
  EXPECT_TRUE(blocks.overlaps(600, 1));
  EXPECT_TRUE(blocks.overlaps(0, 4096));
}

TEST(OverdueBlocks, AgreesWithAMapOfBytes) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    constexpr std::uint64_t kEnd = 64;
    std::vector<bool> held(kEnd + 16);
    OverdueBlocks blocks;
    const auto free_of_held = [&](std::uint64_t from, std::uint64_t bytes) {
      for (std::uint64_t i = from; i < from + bytes && i < held.size(); ++i) {
        if (held[i]) return false;
      }
      return true;
    };
    for (int i = 0; i < 40; ++i) {
      const std::uint64_t offset = random() % kEnd, bytes = 1 + random() % 9;
      EXPECT_EQ(blocks.overlaps(offset, bytes), !free_of_held(offset, bytes));
      if (free_of_held(offset, bytes)) {
        blocks.insert(offset, {.bytes = bytes, .epoch = offset});
        std::fill_n(held.begin() + static_cast<std::ptrdiff_t>(offset), bytes, true);
      }
      std::uint64_t gap = 0;
      while (!free_of_held(gap, bytes)) ++gap;
      EXPECT_EQ(blocks.first_free_offset(bytes), gap);
      if (random() % 3 == 0 && !blocks.empty()) {
        const std::uint64_t first = blocks.begin()->first;
        const auto entry = blocks.take(first);
        EXPECT_EQ(entry.epoch, first);
        std::fill_n(held.begin() + static_cast<std::ptrdiff_t>(first), entry.bytes, false);
      }
    }
  }
}

}  // namespace
}  // namespace skyline
