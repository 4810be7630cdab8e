#include "memory/device/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <limits>
#include <stdexcept>

#include "memory/device/cpu_device.h"
#include "memory/device/device_account.h"
#include "memory/device/out_of_memory.h"
#include "memory/device/simulated_device.h"
#include "tests/memory/units.h"

namespace skyline {
namespace {

constexpr std::size_t kDeviceBytes = 64 * kMiB;

std::uint64_t number(const std::byte* address) { return reinterpret_cast<std::uint64_t>(address); }

// The promises of every device in the table.
class DeviceTest : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Device> device_ = make_device(GetParam(), kDeviceBytes);

  void write(std::byte* address, std::size_t bytes, int value) {
    if (device_->has_memory()) std::memset(address, value, bytes);
  }
  bool holds(const std::byte* address, std::size_t bytes, int value) {
    return !device_->has_memory() || std::all_of(address, address + bytes, [value](std::byte b) {
      return b == static_cast<std::byte>(value);
    });
  }
};

TEST_P(DeviceTest, NamesItselfAndItsCapacity) {
  EXPECT_EQ(device_->name(), GetParam());
  EXPECT_EQ(device_->capacity_bytes(), kDeviceBytes);
  EXPECT_GT(make_device(GetParam())->capacity_bytes(), kDeviceBytes);
}

TEST_P(DeviceTest, AllocationsAreAlignedAndWritable) {
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{5000}, 2 * kMiB, 3 * kMiB + 512}) {
    std::byte* address = device_->allocate(bytes);
    EXPECT_EQ(number(address) % 4096, 0u);
    if (bytes >= kHugePageBytes) {
      EXPECT_EQ(number(address) % kHugePageBytes, 0u);
    }
    write(address, bytes, 5);
    EXPECT_TRUE(holds(address, bytes, 5));
    device_->deallocate(address, bytes);
  }
}

TEST_P(DeviceTest, CountsExactlyTheBytesAskedFor) {
  std::byte* a = device_->allocate(1000);
  std::byte* b = device_->allocate(3 * kMiB);
  EXPECT_EQ(device_->statistics().reserved_bytes, 1000 + 3 * kMiB);
  device_->deallocate(a, 1000);
  device_->deallocate(b, 3 * kMiB);
  const DeviceStatistics after = device_->statistics();
  EXPECT_EQ(after.reserved_bytes, 0u);
  EXPECT_EQ(after.peak_reserved_bytes, 1000 + 3 * kMiB);
  EXPECT_EQ(after.allocations, 2u);
  EXPECT_EQ(after.frees, 2u);
}

TEST_P(DeviceTest, RefusesPastItsCapacityAndStaysAsItWas) {
  std::byte* most = device_->allocate(kDeviceBytes - 10);
  for (const std::size_t bytes : {std::size_t{11}, std::numeric_limits<std::size_t>::max()}) {
    try {
      device_->allocate(bytes);
      FAIL() << "expected OutOfMemory";
    } catch (const OutOfMemory& refusal) {
      EXPECT_EQ(refusal.facts().shortage, Shortage::kDevice);
      EXPECT_EQ(refusal.facts().where, GetParam());
      EXPECT_EQ(refusal.facts().requested_bytes, bytes);
      EXPECT_EQ(refusal.facts().reserved_bytes, kDeviceBytes - 10);
      EXPECT_EQ(refusal.facts().capacity_bytes, kDeviceBytes);
    }
  }
  EXPECT_EQ(device_->statistics().allocations, 1u);
  std::byte* rest = device_->allocate(10);
  device_->deallocate(rest, 10);
  device_->deallocate(most, kDeviceBytes - 10);
}

TEST_P(DeviceTest, RangeGrowsAndShrinksInPlace) {
  const auto range = device_->reserve(9 * kMiB);
  EXPECT_EQ(range->reserved_bytes(), 10 * kMiB);
  EXPECT_EQ(range->committed_bytes(), 0u);
  EXPECT_EQ(number(range->base()) % kHugePageBytes, 0u);
  EXPECT_EQ(device_->statistics().reserved_bytes, 0u);
  std::byte* base = range->base();
  range->commit(1);
  EXPECT_EQ(range->committed_bytes(), kCommitBytes);
  range->commit(2 * kMiB);
  write(base, 2 * kMiB, 1);
  range->commit(5 * kMiB);
  EXPECT_EQ(range->base(), base);
  EXPECT_EQ(range->committed_bytes(), 5 * kMiB);
  EXPECT_TRUE(holds(base, 2 * kMiB, 1));
  write(base + 2 * kMiB, 3 * kMiB, 2);
  range->commit(4 * kMiB);
  EXPECT_TRUE(holds(base, 2 * kMiB, 1) && holds(base + 2 * kMiB, 2 * kMiB, 2));
  range->commit(6 * kMiB);
  EXPECT_TRUE(holds(base + 4 * kMiB, 2 * kMiB, 0)) << "what was given back comes back fresh";
  EXPECT_EQ(device_->statistics().peak_reserved_bytes, 6 * kMiB);
}

TEST_P(DeviceTest, RangeCountsCommitsThatChangeIt) {
  auto range = device_->reserve(8 * kMiB);
  range->commit(2 * kMiB);
  range->commit(2 * kMiB);  // no change
  range->commit(6 * kMiB);
  range->commit(4 * kMiB);
  EXPECT_EQ(device_->statistics().allocations, 2u);
  EXPECT_EQ(device_->statistics().frees, 1u);
  EXPECT_EQ(device_->statistics().reserved_bytes, 4 * kMiB);
  range.reset();
  EXPECT_EQ(device_->statistics().frees, 2u);
  EXPECT_EQ(device_->statistics().reserved_bytes, 0u);
  device_->reserve(8 * kMiB).reset();  // nothing committed, nothing counted
  EXPECT_EQ(device_->statistics().frees, 2u);
}

TEST_P(DeviceTest, RangeRefusesPastItsReservationAndPastTheCapacity) {
  const auto range = device_->reserve(4 * kMiB);
  range->commit(4 * kMiB);
  range->commit(2 * kMiB);
  try {
    range->commit(4 * kMiB + 1);
    FAIL() << "expected OutOfMemory";
  } catch (const OutOfMemory& refusal) {
    EXPECT_EQ(refusal.facts().shortage, Shortage::kLimit);
    EXPECT_EQ(refusal.facts().capacity_bytes, 4 * kMiB);
  }
  const auto large = device_->reserve(2 * kDeviceBytes);
  EXPECT_THROW(large->commit(kDeviceBytes), OutOfMemory);
  EXPECT_EQ(large->committed_bytes(), 0u);
  EXPECT_EQ(range->committed_bytes(), 2 * kMiB);
  EXPECT_EQ(device_->statistics().reserved_bytes, 2 * kMiB);
  EXPECT_THROW(device_->reserve(std::numeric_limits<std::size_t>::max()), OutOfMemory);
}

INSTANTIATE_TEST_SUITE_P(Devices, DeviceTest, testing::Values("cpu", "simulated"),
                         [](const auto& row) { return std::string(row.param); });

// True when the kernel can read the address.
bool is_open(const std::byte* address) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe(ends.data()), 0);
  const bool open = write(ends[1], address, 1) == 1;
  for (const int end : ends) close(end);
  return open;
}

TEST(CpuDevice, OnlyTheCommittedBytesOfARangeAreOpen) {
  CpuDevice device;
  const auto range = device.reserve(8 * kMiB);
  EXPECT_FALSE(is_open(range->base()));
  range->commit(6 * kMiB);
  EXPECT_TRUE(is_open(range->base() + 6 * kMiB - 1));
  EXPECT_FALSE(is_open(range->base() + 6 * kMiB));
  range->commit(4 * kMiB);
  EXPECT_TRUE(is_open(range->base() + 4 * kMiB - 1));
  EXPECT_FALSE(is_open(range->base() + 4 * kMiB));
}

std::size_t mapped_pages() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages;
}

TEST(CpuDevice, GivesBackAllAddressesThatItMapped) {
  CpuDevice device;
  const std::size_t before = mapped_pages();
  for (int i = 0; i < 64; ++i) {
    device.deallocate(device.allocate(3 * kMiB), 3 * kMiB);
    device.deallocate(device.allocate(5000), 5000);
    device.reserve(9 * kMiB);
  }
  EXPECT_LE(mapped_pages(), before + 16 * kMiB / 4096);
}

TEST(CpuDevice, RefusesWhatWouldWrapAround) {
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max();
  CpuDevice device(kMost);
  EXPECT_THROW(device.allocate(kMost - 4095), OutOfMemory);
  EXPECT_EQ(device.statistics().reserved_bytes, 0u);
}

TEST(SimulatedDevice, HasNoMoreBytesThanAddresses) {
  EXPECT_EQ(SimulatedDevice(std::numeric_limits<std::size_t>::max()).capacity_bytes(),
            SimulatedDevice::kAddressSpaceBytes);
}

TEST(SimulatedDevice, AddressesGoUpOnBoundariesAndAreNeverReused) {
  SimulatedDevice device;
  std::uint64_t last = 0;
  for (const std::size_t bytes : {std::size_t{1}, 2 * kMiB, 2 * kMiB + 1, std::size_t{512}}) {
    std::byte* address = device.allocate(bytes);
    EXPECT_EQ(number(address) % kHugePageBytes, 0u);
    EXPECT_GT(number(address), last);
    last = number(address) + bytes - 1;
    device.deallocate(address, bytes);
  }
  EXPECT_GT(number(device.reserve(kMiB)->base()), last);
}

TEST(SimulatedDevice, RangesCommitInMultiplesOfWhatWasGiven) {
  constexpr std::size_t kMebibyte = std::size_t{1} << 20;
  SimulatedDevice device({}, 2 * kMebibyte);
  const std::unique_ptr<Range> range = device.reserve(8 * kMebibyte);
  range->commit(2 * kMebibyte + 1);
  EXPECT_EQ(range->committed_bytes(), 4 * kMebibyte);
  EXPECT_EQ(device.statistics().reserved_bytes, 4 * kMebibyte);
}

TEST(SimulatedDevice, RunsOutOfAddressesWithoutWrapping) {
  SimulatedDevice device;
  const std::size_t half = SimulatedDevice::kAddressSpaceBytes / 2;
  device.deallocate(device.allocate(half), half);
  EXPECT_THROW(device.allocate(half), OutOfMemory);
  EXPECT_EQ(device.statistics().allocations, 1u);
}

TEST(MakeDevice, NamesTheFlagOfABackendThatIsNotBuiltIn) {
  const auto make = [] { make_device("cuda"); };
  EXPECT_THAT(make,
              testing::ThrowsMessage<std::runtime_error>(testing::HasSubstr("--device cuda")));
}

TEST(MakeDevice, AnswersAnUnknownNameWithTheKnownOnes) {
  const auto make = [] { make_device("gpu"); };
  EXPECT_THAT(make, testing::ThrowsMessage<std::invalid_argument>(
                        testing::HasSubstr("got gpu, expected cpu, cuda, simulated")));
}

}  // namespace
}  // namespace skyline
