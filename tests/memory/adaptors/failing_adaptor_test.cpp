#include "tests/memory/adaptors/failing_adaptor.h"

#include <gtest/gtest.h>

#include "memory/allocators/best_fit_pool.h"
#include "memory/device/simulated_device.h"

namespace skyline {
namespace {

class FailingAdaptorTest : public testing::Test {
 protected:
  SimulatedDevice device_;
  BestFitPool pool_{device_};
  FailingAdaptor failing_{pool_};
};

TEST_F(FailingAdaptorTest, FailsTheNthRequestAndThatOneOnly) {
  failing_.fail_request(2);
  EXPECT_NO_THROW(failing_.allocate(1));
  EXPECT_NO_THROW(failing_.allocate(1));
  EXPECT_TRUE(failing_.armed());
  try {
    failing_.allocate(77, {.op = "add", .layer = "block1"});
    FAIL() << "expected OutOfMemory";
  } catch (const OutOfMemory& refusal) {
    EXPECT_EQ(refusal.facts().shortage, Shortage::kInjected);
    EXPECT_EQ(refusal.facts().requested_bytes, 77u);
    EXPECT_EQ(refusal.facts().request, "add of block1 (outside, unknown)");
  }
  EXPECT_FALSE(failing_.armed());
  EXPECT_NO_THROW(failing_.allocate(1));
  EXPECT_EQ(failing_.statistics().out_of_memory, 1u);
  EXPECT_EQ(failing_.statistics().requests, 3u);
}

TEST_F(FailingAdaptorTest, CanBeDisarmedAndArmedAgain) {
  failing_.fail_request(0);
  failing_.disarm();
  EXPECT_NO_THROW(failing_.allocate(1));
  failing_.fail_request(0);
  EXPECT_THROW(failing_.allocate(1), OutOfMemory);
}

// Fails request 0, 1, 2 … until the task succeeds.
TEST_F(FailingAdaptorTest, TheLoopOverAllFailuresEnds) {
  std::uint64_t failures = 0;
  while (true) {
    failing_.fail_request(failures);
    try {
      Block a = failing_.allocate(10), b = failing_.allocate(20), c = failing_.allocate(30);
      break;
    } catch (const OutOfMemory&) {
      ++failures;
      EXPECT_EQ(failing_.statistics().requested_bytes, 0u);
    }
  }
  EXPECT_EQ(failures, 3u);
}

}  // namespace
}  // namespace skyline
