#include "memory/machine/machine_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "memory/device/cpu_device.h"
#include "memory/device/out_of_memory.h"
#include "tests/memory/machine/machine_root.h"
#include "tests/memory/units.h"

namespace skyline {
namespace {

// A cgroup of 300 MiB.
class MachineMemoryTest : public testing::Test {
 protected:
  MachineMemoryTest() {
    root_.write("proc/self/cgroup", "0::/jobs\n");
    root_.write("sys/fs/cgroup/jobs/memory.max", std::to_string(300 * kMiB));
    use(100 * kMiB);
  }
  void use(std::size_t bytes) {
    root_.write("sys/fs/cgroup/jobs/memory.current", std::to_string(bytes));
  }

  MachineRoot root_;
};

TEST_F(MachineMemoryTest, IsWhatTheCgroupLeavesFree) {
  const MachineMemory memory = machine_memory(root_.path());
  EXPECT_EQ(memory.bytes, 200 * kMiB - kKeptBytes);
  ASSERT_TRUE(memory.limit);
  EXPECT_EQ(memory.limit->name, "memory.max of cgroup /jobs");
  use(290 * kMiB);
  EXPECT_EQ(machine_memory(root_.path()).bytes, 0u);
}

TEST_F(MachineMemoryTest, IsThePhysicalMemoryWithoutATighterLimit) {
  root_.write("sys/fs/cgroup/jobs/memory.max", std::to_string(std::size_t{1} << 60));
  const MachineMemory memory = machine_memory(root_.path());
  if (!memory.limit) {  // a limit of this test's own process may be lower
    EXPECT_EQ(memory.bytes, static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
                                static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
  } else {
    EXPECT_THAT(memory.limit->name, testing::HasSubstr("ulimit"));
  }
}

TEST_F(MachineMemoryTest, TheDeviceRefusesMoreThanIsFreeAndSaysWhy) {
  CpuDevice device({}, root_.path());
  EXPECT_EQ(device.capacity_bytes(), 200 * kMiB - kKeptBytes);
  try {
    device.allocate(160 * kMiB);
    FAIL() << "expected OutOfMemory";
  } catch (const OutOfMemory& refusal) {
    EXPECT_STREQ(refusal.what(),
                 "[cpu] out of memory (memory.max of cgroup /jobs is reached): requested 167772160 "
                 "bytes, reserved 0, capacity 159383552, the system's limit 314572800");
  }
  EXPECT_EQ(device.statistics().allocations, 0u);
}

// Other processes share a cgroup, and so do other devices of this process.
TEST_F(MachineMemoryTest, TheDeviceWatchesWhatOthersUse) {
  CpuDevice device(std::size_t{1} << 40, root_.path());
  const auto range = device.reserve(8 * kMiB);
  device.deallocate(device.allocate(kMiB), kMiB);
  use(300 * kMiB - kMiB / 2);
  EXPECT_THAT([&] { device.allocate(kMiB); },
              testing::ThrowsMessage<OutOfMemory>(testing::HasSubstr("free of it 524288")));
  EXPECT_THROW(range->commit(kMiB), OutOfMemory);
  EXPECT_EQ(range->committed_bytes(), 0u);
  EXPECT_EQ(device.statistics().reserved_bytes, 0u);
  range->commit(kMiB / 4);
  EXPECT_EQ(range->committed_bytes(), kMiB / 4);
}

}  // namespace
}  // namespace skyline
