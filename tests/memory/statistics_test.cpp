#include "memory/allocator.h"

#include <gtest/gtest.h>

namespace skyline {
namespace {

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

}  // namespace
}  // namespace skyline
