#include "memory/replay/observed_device.h"

#include <gtest/gtest.h>

#include "memory/device/out_of_memory.h"
#include "memory/device/simulated_device.h"

namespace skyline {
namespace {

constexpr std::size_t kPage = 4096;

// "+address:bytes -address:bytes", ranges as > and <; addresses from the first one on.
std::string changes_of(ObservedDevice& device) {
  std::string text;
  for (const SegmentChange& change : device.take_changes()) {
    const char kind = "+-><"[static_cast<std::size_t>(change.kind)];
    text += kind + std::to_string(change.address - (2 << 20)) + ":" + std::to_string(change.bytes) +
            " ";
  }
  return text;
}

TEST(ObservedDevice, NotesSegments) {
  SimulatedDevice upstream;
  ObservedDevice device(upstream);
  std::byte* const first = device.allocate(100);
  std::byte* const second = device.allocate(200);
  device.deallocate(first, 100);
  EXPECT_EQ(changes_of(device), "+0:100 +2097152:200 -0:100 ");
  EXPECT_EQ(changes_of(device), "") << "they were taken";
  device.deallocate(second, 200);
  EXPECT_EQ(changes_of(device), "-2097152:200 ");
  EXPECT_EQ(device.statistics().reserved_bytes, 0u);
}

TEST(ObservedDevice, NotesWhatRangesGainAndLose) {
  SimulatedDevice upstream;
  ObservedDevice device(upstream);
  {
    const auto range = device.reserve(16 * kPage);
    range->commit(2 * kPage);
    range->commit(5 * kPage);
    range->commit(5 * kPage);
    range->commit(kPage);
    EXPECT_EQ(range->committed_bytes(), kPage);
  }
  EXPECT_EQ(changes_of(device), ">0:8192 >8192:12288 <4096:16384 <0:4096 ");
}

TEST(ObservedDevice, NotesNothingOfWhatIsRefused) {
  SimulatedDevice upstream(kPage);
  ObservedDevice device(upstream);
  EXPECT_THROW(device.allocate(2 * kPage), OutOfMemory);
  const auto range = device.reserve(4 * kPage);
  EXPECT_THROW(range->commit(2 * kPage), OutOfMemory);
  EXPECT_EQ(changes_of(device), "");
  EXPECT_EQ(device.capacity_bytes(), kPage);
}

TEST(ObservedDevice, HasRoomForAllThatIsGivenBackAtOnce) {
  SimulatedDevice upstream;
  ObservedDevice device(upstream);
  std::vector<std::byte*> segments;
  for (int i = 0; i < 1000; ++i) segments.push_back(device.allocate(kPage));
  EXPECT_EQ(device.take_changes().size(), 1000u);
  for (std::byte* const segment : segments) device.deallocate(segment, kPage);
  EXPECT_EQ(device.take_changes().size(), 1000u);
}

}  // namespace
}  // namespace skyline
