#include "memory/adaptors/waiting_device.h"

#include <gtest/gtest.h>

#include "memory/device/cpu_device.h"
#include "memory/device/simulated_device.h"

namespace skyline {
namespace {

class WaitingDeviceTest : public ::testing::Test {
 protected:
  int waits_ = 0;
  WaitingDevice device_{std::make_unique<CpuDevice>(), [this] { ++waits_; }};
};

TEST_F(WaitingDeviceTest, WaitsBeforeBytesGoBack) {
  std::byte* address = device_.allocate(4096);
  EXPECT_EQ(waits_, 0);
  device_.deallocate(address, 4096);
  EXPECT_EQ(waits_, 1);
  EXPECT_EQ(device_.statistics().frees, 1u);
}

TEST_F(WaitingDeviceTest, WaitsBeforeTheHostLooks) {
  std::byte* address = device_.allocate(8);
  device_.fill(address, 8, 0x01010101u);
  EXPECT_EQ(waits_, 1);
  std::byte host[8];
  device_.read(host, address, 8);
  EXPECT_EQ(waits_, 2);
  EXPECT_EQ(host[7], std::byte{1});
  device_.deallocate(address, 8);
}

TEST_F(WaitingDeviceTest, ARangeWaitsBeforeItShrinksOrEnds) {
  std::unique_ptr<Range> range = device_.reserve(std::size_t{8} << 20);
  range->commit(std::size_t{4} << 20);
  EXPECT_EQ(waits_, 0);
  range->commit(0);
  EXPECT_EQ(waits_, 1);
  EXPECT_EQ(range->committed_bytes(), 0u);
  range.reset();
  EXPECT_EQ(waits_, 2);
}

TEST(WaitingDevice, IsItsUpstreamInAllElse) {
  const WaitingDevice device(std::make_unique<SimulatedDevice>(1 << 20), [] {});
  EXPECT_EQ(device.name(), "simulated");
  EXPECT_FALSE(device.has_memory());
  EXPECT_EQ(device.capacity_bytes(), std::size_t{1} << 20);
}

}  // namespace
}  // namespace skyline
