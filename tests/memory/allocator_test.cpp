#include "memory/allocator.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace skyline {
namespace {

TEST(Names, AreDistinctAndComplete) {
  std::set<std::string_view> categories, phases;
  for (int i = 0; i < kCategoryCount; ++i) {
    categories.insert(category_name(static_cast<Category>(i)));
  }
  EXPECT_EQ(categories.size(), static_cast<std::size_t>(kCategoryCount));
  EXPECT_EQ(category_name(Category::kParameterGradient), "parameter gradient");
  for (int i = 0; i < 4; ++i) phases.insert(phase_name(static_cast<Phase>(i)));
  EXPECT_EQ(phases, (std::set<std::string_view>{"outside", "forward", "backward", "update"}));
}

TEST(Names, OfATagLeaveOutWhatIsEmpty) {
  EXPECT_EQ(tag_name({}), "request (outside, unknown)");
  EXPECT_EQ(tag_name({"conv2d", "conv1", Phase::kForward, Category::kActivation}),
            "conv2d of conv1 (forward, activation)");
}

TEST(StatisticsTest, Fragmentation) {
  Statistics statistics;
  EXPECT_EQ(statistics.external_fragmentation(), 0.0);
  statistics.reserved_bytes = 1000;
  statistics.allocated_bytes = 600;
  statistics.requested_bytes = 550;
  statistics.largest_free_block_bytes = 100;
  EXPECT_EQ(statistics.cached_bytes(), 400u);
  EXPECT_DOUBLE_EQ(statistics.external_fragmentation(), 0.75);
  EXPECT_EQ(statistics.internal_fragmentation_bytes(), 50u);
  statistics.largest_free_block_bytes = 500;  // with slack that counts as allocated
  EXPECT_EQ(statistics.external_fragmentation(), 0.0);
  statistics.largest_free_block_bytes = 400;
  EXPECT_EQ(statistics.external_fragmentation(), 0.0);
}

TEST(OutOfMemoryTest, SaysWhatIsKnownAndNothingElse) {
  OutOfMemoryFacts facts;
  facts.where = "pool";
  facts.requested_bytes = 7;
  facts.shortage = Shortage::kFragmentation;
  facts.largest_free_block_bytes = 3;
  const OutOfMemory error(facts);
  EXPECT_STREQ(error.what(),
               "[pool] out of memory (free memory is fragmented): requested 7 bytes, "
               "largest free block 3");
  facts.shortage = Shortage::kLimit;
  facts.capacity_bytes = 5;
  EXPECT_STREQ(OutOfMemory(facts).what(),
               "[pool] out of memory (the limit is reached): requested 7 bytes, limit 5, "
               "largest free block 3");
}

}  // namespace
}  // namespace skyline
