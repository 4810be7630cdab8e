#include "memory/alignment.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace skyline {
namespace {

constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();

TEST(AlignUp, ReturnsTheNextMultiple) {
  EXPECT_EQ(align_up(0, 512), 0);
  EXPECT_EQ(align_up(1, 512), 512);
  EXPECT_EQ(align_up(512, 512), 512);
  EXPECT_EQ(align_up(10, 7), 14);
}

TEST(AlignUp, SaturatesAtTheLargestMultiple) {
  EXPECT_EQ(align_up(kLargest, 512), kLargest - 511);
  EXPECT_EQ(align_up(kLargest - 511, 512), kLargest - 511);
  EXPECT_EQ(align_up(kLargest, 10), kLargest / 10 * 10);
}

TEST(AlignRequest, CountsNoByteAsOne) {
  EXPECT_EQ(align_request(0), kAlignmentBytes);
  EXPECT_EQ(align_request(0, 256), 256u);
  EXPECT_EQ(align_request(513), 1024u);
}

}  // namespace
}  // namespace skyline
