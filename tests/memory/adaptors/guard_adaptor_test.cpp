#include "memory/adaptors/checking_adaptors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "memory/adaptors/observing_adaptors.h"
#include "memory/allocators/best_fit_pool.h"
#include "memory/device/cpu_device.h"
#include "memory/device/simulated_device.h"

namespace skyline {
namespace {

constexpr Tag kTag{"pool2d", "pool1", Phase::kBackward, Category::kGradient};

class GuardAdaptorTest : public testing::Test {
 protected:
  CpuDevice device_;
  BestFitPool pool_{device_};
  GuardAdaptor guard_{pool_, device_};

  // Returns the offset that `call` reports; empty when it does not throw.
  template <typename Call>
  static std::optional<std::ptrdiff_t> damage(Call call) {
    try {
      call();
    } catch (const MemoryCorruption& corruption) {
      EXPECT_EQ(corruption.tag(),
                (BlockTag{"pool2d", "pool1", Phase::kBackward, Category::kGradient}));
      EXPECT_THAT(corruption.what(), testing::HasSubstr("pool2d of pool1"));
      return corruption.offset();
    }
    return {};
  }
};

TEST_F(GuardAdaptorTest, FindsTheFirstByteWrittenOutside) {
  for (const std::size_t bytes : {0u, 1u, 511u, 512u, 1000u}) {
    const auto end = static_cast<std::ptrdiff_t>(bytes);
    for (const std::ptrdiff_t offset : {std::ptrdiff_t{-512}, std::ptrdiff_t{-1}, end, end + 511}) {
      Block block = guard_.allocate(bytes, kTag);
      block.address()[offset] ^= std::byte{1};
      block.reset();
      EXPECT_EQ(damage([&] { guard_.check(); }), offset) << bytes;
      EXPECT_EQ(damage([&] { guard_.check(); }), std::nullopt) << "reported once";
    }
  }
}

TEST_F(GuardAdaptorTest, RemembersTheFirstDamage) {
  Block first = guard_.allocate(8, kTag), second = guard_.allocate(8, kTag);
  first.address()[-1] = std::byte{0};
  second.address()[-2] = std::byte{0};
  first.reset();
  second.reset();
  EXPECT_EQ(damage([&] { guard_.check(); }), -1);
  EXPECT_EQ(damage([&] { guard_.check(); }), std::nullopt);
}

TEST_F(GuardAdaptorTest, WritingAllOfABlockIsNoDamage) {
  Block block = guard_.allocate(777, kTag);
  std::memset(block.address(), 0, 777);
  EXPECT_NO_THROW(guard_.check());
  block.reset();
  EXPECT_NO_THROW(guard_.check());
}

TEST_F(GuardAdaptorTest, CheckAndEndStepLookAtLiveBlocksToo) {
  guard_.begin_step(0);
  Block block = guard_.allocate(8, kTag);
  block.address()[8] = std::byte{0};
  EXPECT_EQ(damage([&] { guard_.check(); }), 8);
  EXPECT_EQ(damage([&] { guard_.end_step(); }), 8);
  block.address()[8] = GuardAdaptor::kGuard;
  EXPECT_NO_THROW(guard_.check());
}

TEST_F(GuardAdaptorTest, TheNextRequestReportsDamageAndTheOneAfterIsServed) {
  Block block = guard_.allocate(8, kTag);
  block.address()[-3] = std::byte{0};
  block.reset();
  const Statistics before = guard_.statistics();
  EXPECT_EQ(damage([&] { guard_.allocate(1, kTag); }), -3);
  EXPECT_EQ(guard_.statistics().requests, before.requests);
  EXPECT_TRUE(guard_.allocate(1, kTag));
}

TEST_F(GuardAdaptorTest, EndStepReachesUpstreamBeforeItReports) {
  RecordingAdaptor recording(pool_);
  GuardAdaptor guard(recording, device_);
  guard.begin_step(0);
  Block block = guard.allocate(8, kTag);
  block.address()[-1] = std::byte{0};
  block.reset();
  EXPECT_EQ(damage([&] { guard.end_step(); }), -1);
  EXPECT_EQ(recording.last_step().size(), 1u);
}

TEST_F(GuardAdaptorTest, PoisonIsNotANumber) {
  Block block = guard_.allocate(64, kTag);
  float fresh = 0;
  double fresh_double = 0;
  std::memcpy(&fresh, block.address() + 60, sizeof(fresh));
  std::memcpy(&fresh_double, block.address(), sizeof(fresh_double));
  EXPECT_TRUE(std::isnan(fresh) && std::isnan(fresh_double));
  std::memset(block.address(), 0, 64);
  std::byte* address = block.address();
  block.reset();  // the pool keeps the memory, so that it can be read
  std::uint32_t freed = 0;
  std::memcpy(&freed, address, sizeof(freed));
  EXPECT_EQ(freed, GuardAdaptor::kFreedPoison);
}

TEST_F(GuardAdaptorTest, PoisonsTheLastBytesOfOddSizes) {
  for (const std::size_t bytes : {1u, 2u, 3u, 5u, 7u}) {
    Block block = guard_.allocate(bytes, kTag);
    std::uint32_t word = GuardAdaptor::kFreshPoison;
    EXPECT_EQ(std::memcmp(block.address() + bytes / 4 * 4, &word, bytes % 4), 0) << bytes;
    block.reset();
    EXPECT_NO_THROW(guard_.check()) << "the poison stayed inside " << bytes;
  }
}

TEST_F(GuardAdaptorTest, SizesUpstreamDependOnTheRequestOnly) {
  RecordingAdaptor recording(pool_);
  GuardAdaptor guard(recording, device_);
  guard.begin_step(0);
  guard.allocate(0).reset();
  guard.allocate(1000).reset();
  guard.end_step();
  EXPECT_EQ(recording.last_step().blocks, (std::vector<TraceBlock>{{0, 1, 1024}, {2, 3, 2024}}));
  EXPECT_EQ(guard.statistics().peak_requested_bytes, 1000u);
}

TEST(GuardAdaptorWithoutMemory, TouchesNothing) {
  SimulatedDevice device;
  BestFitPool pool(device);
  GuardAdaptor guard(pool, device);
  guard.begin_step(0);
  Block block = guard.allocate(1000);
  EXPECT_EQ(pool.statistics().requested_bytes, 2024u);
  guard.check();
  block.reset();
  EXPECT_NO_THROW(guard.end_step());
}

}  // namespace
}  // namespace skyline
