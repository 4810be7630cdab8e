#include "memory/adaptors/adaptor.h"

#include <gtest/gtest.h>

#include <limits>

#include "memory/allocators/best_fit_pool.h"
#include "memory/device/simulated_device.h"
#include "tests/memory/adaptors/failing_adaptor.h"

namespace skyline {
namespace {

class LimitAdaptorTest : public testing::Test {
 protected:
  SimulatedDevice device_;
  BestFitPool pool_{device_};
  FailingAdaptor failing_{pool_};
  LimitAdaptor limit_{failing_, 2048};
};

TEST_F(LimitAdaptorTest, ServesUpToTheLimitInRoundedBytes) {
  Block a = limit_.allocate(1025), b = limit_.allocate(0);
  EXPECT_EQ(limit_.live_bytes(), 2048u);
  EXPECT_THROW(limit_.allocate(1), OutOfMemory);
  b.reset();
  EXPECT_NO_THROW(limit_.allocate(512));
}

TEST_F(LimitAdaptorTest, SaysThatItIsTheLimit) {
  Block live = limit_.allocate(512);
  for (const std::size_t bytes : {std::size_t{1537}, std::numeric_limits<std::size_t>::max()}) {
    try {
      limit_.allocate(bytes, {.op = "relu"});
      FAIL() << "expected OutOfMemory";
    } catch (const OutOfMemory& refusal) {
      EXPECT_EQ(refusal.facts().shortage, Shortage::kLimit);
      EXPECT_EQ(refusal.facts().requested_bytes, bytes);
      EXPECT_EQ(refusal.facts().capacity_bytes, 2048u);
      EXPECT_EQ(refusal.facts().largest_free_block_bytes, 1536u);
      EXPECT_FALSE(refusal.facts().reserved_bytes.has_value()) << "the limit does not know it";
    }
  }
  EXPECT_EQ(limit_.statistics().out_of_memory, 2u);
  EXPECT_EQ(pool_.statistics().out_of_memory, 0u);
}

TEST_F(LimitAdaptorTest, LosesNoBytesWhenUpstreamThrows) {
  for (int i = 0; i < 10; ++i) {
    failing_.fail_request(0);
    EXPECT_THROW(limit_.allocate(2048), OutOfMemory);
  }
  EXPECT_EQ(limit_.live_bytes(), 0u);
  EXPECT_EQ(limit_.statistics().out_of_memory, 10u);
  EXPECT_NO_THROW(limit_.allocate(2048));
}

}  // namespace
}  // namespace skyline
