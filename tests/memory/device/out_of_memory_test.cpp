#include "memory/device/out_of_memory.h"

#include <gtest/gtest.h>

namespace skyline {
namespace {

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
