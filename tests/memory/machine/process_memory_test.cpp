#include "memory/machine/process_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <sstream>

#include "memory/device/cpu_device.h"
#include "tests/memory/units.h"

namespace skyline {
namespace {

TEST(ProcessMemoryTest, SortsMappingsByWhatTheyHold) {
  std::istringstream smaps(
      "5500-5600 r--p 00000000 fe:00 12    /usr/bin/skyline\n"
      "Size:                100 kB\n"
      "Rss:                   7 kB\n"
      "VmFlags: rd mr mw me\n"
      "5600-5700 r-xp 00001000 fe:00 12    /usr/lib/lib dnnl.so (deleted)\n"
      "Rss:                  11 kB\n"
      "7f00-7f10 rwxp 00000000 00:00 0\n"
      "Rss:                 100 kB\n"
      "7f10-7f20 r-xs 00000000 00:01 9     /memfd:xbyak (deleted)\n"
      "Rss:                 200 kB\n"
      "7f20-7f30 rw-p 00000000 00:00 0     [heap]\n"
      "Rss:                3000 kB\n"
      "Pss:                   1 kB\n"
      "7f30-7f40 rw-p 00000000 00:00 0 \n"
      "Rss:               50000 kB\n");
  ProcessMemory memory;
  add_mappings(smaps, memory);
  EXPECT_EQ(memory.program_bytes, 18u * 1024);
  EXPECT_EQ(memory.generated_bytes, 300u * 1024);
  EXPECT_EQ(memory.anonymous_bytes, 53000u * 1024);
  EXPECT_EQ(memory.resident_bytes, 53318u * 1024);
}

TEST(ProcessMemoryTest, SeesWhatIsTouchedAndItsPeak) {
  CpuDevice device;
  const auto range = device.reserve(64 * kMiB);
  ProcessMemory before, during;
  // The system, or the address sanitizer, may take back what other tests used at the same time.
  for (int attempt = 0; attempt < 5; ++attempt) {
    range->commit(0);
    before = process_memory();
    range->commit(64 * kMiB);
    EXPECT_LT(device.resident_bytes(), 4 * kMiB) << "committed but not touched";
    std::memset(range->base(), 1, 32 * kMiB);
    during = process_memory();
    if (during.anonymous_bytes >= before.anonymous_bytes + 31 * kMiB) break;
  }
  EXPECT_GT(before.program_bytes, 0u);
  EXPECT_GE(during.anonymous_bytes, before.anonymous_bytes + 31 * kMiB);
  std::byte* block = device.allocate(8 * kMiB);
  std::memset(block, 1, 8 * kMiB);
  EXPECT_EQ(device.resident_bytes(), 40 * kMiB);
  during = process_memory();
  EXPECT_GE(during.peak_resident_bytes, during.resident_bytes);
  range->commit(16 * kMiB);
  device.deallocate(block, 8 * kMiB);
  EXPECT_EQ(device.resident_bytes(), 16 * kMiB);
  const ProcessMemory after = process_memory();
  EXPECT_LT(after.resident_bytes, during.resident_bytes - 16 * kMiB);
  // The kernel counts the peak in pieces.
  EXPECT_GE(after.peak_resident_bytes, during.resident_bytes - kMiB) << "the peak stays";
}

}  // namespace
}  // namespace skyline
