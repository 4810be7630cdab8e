#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "memory/formats/pytorch/snapshot_reader.h"
#include "tests/memory/formats/pytorch/python_pickles.h"
#include "tests/memory/replay/replayed_events.h"

namespace skyline {
namespace {

using EventKind = AllocationEvent::Kind;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<PlainEvent> events_of(std::string_view pickle, std::optional<std::size_t> device = {}) {
  std::istringstream in{std::string(pickle)};
  SnapshotReader reader(in, "x.pickle", {}, device);
  return all_events(reader);
}

class SnapshotOfPython : public testing::TestWithParam<std::string> {};

TEST_P(SnapshotOfPython, ReadsBlocksFromBeforeTheTraceAndTheTrace) {
  const auto events = events_of(GetParam());
  ASSERT_EQ(events.size(), 5u);
  const BlockTag conv{"conv", "net.py", Phase::kOutside, Category::kUnknown};
  const BlockTag gradient{"conv", "net.py", Phase::kOutside, Category::kGradient};
  EXPECT_EQ(events[0], (PlainEvent{EventKind::kAllocation, "0x7f0000000000", 300, conv, {}}));
  EXPECT_EQ(events[1], (PlainEvent{EventKind::kAllocation, "0x7f0000000200", 400, {}, {}}));
  EXPECT_EQ(events[2], (PlainEvent{EventKind::kAllocation, "0x7f0000001000", 64, conv, {}}))
      << "the trace frees it";
  EXPECT_EQ(events[3], (PlainEvent{EventKind::kFree, "0x7f0000001000", 0, {}, {}}));
  EXPECT_EQ(events[4], (PlainEvent{EventKind::kAllocation, "0x7f0000000400", 1000, gradient, {}}))
      << "also in a segment, but the trace allocates it";
}

std::string with_protocol(std::string_view pickle, char protocol) {
  std::string other(pickle);
  other[1] = protocol;
  return other;
}
INSTANTIATE_TEST_SUITE_P(Protocols, SnapshotOfPython,
                         testing::Values(std::string(kSnapshotPickle2),
                                         with_protocol(kSnapshotPickle2, 3),
                                         std::string(kSnapshotPickle4),
                                         with_protocol(kSnapshotPickle4, 5)));

// Builds a snapshot as a pickle of protocol 2.
class SnapshotText {
 public:
  SnapshotText& entry(std::string_view action, std::int64_t address, std::int64_t bytes) {
    text_ += dict(text("action") + text(action) + text("addr") + integer(address) + text("size") +
                  integer(bytes));
    return *this;
  }
  // Each segment holds one block.
  struct SegmentOf {
    std::int64_t device, address;
    std::string_view state;
  };
  SnapshotText& begin(const std::vector<SegmentOf>& segments = {}) {
    std::string all;
    for (const SegmentOf& each : segments) all += segment(each);
    text_ += "}(" + text("segments") + list(all) + text("device_traces") + "](](";
    return *this;
  }
  SnapshotText& next_device() {
    text_ += "e](";
    return *this;
  }
  std::string end() { return text_ + "eeu."; }

 private:
  static std::string little_endian(std::uint64_t value, int bytes) {
    std::string digits;
    for (int i = 0; i < bytes; ++i) digits += static_cast<char>(value >> 8 * i);
    return digits;
  }
  static std::string text(std::string_view value) {
    return "X" + little_endian(value.size(), 4) + std::string(value);
  }
  static std::string integer(std::int64_t value) {
    return "\x8a\x08" + little_endian(static_cast<std::uint64_t>(value), 8);
  }
  static std::string list(const std::string& items) { return "](" + items + "e"; }
  static std::string dict(const std::string& pairs) { return "}(" + pairs + "u"; }
  static std::string segment(const SegmentOf& segment) {
    return dict(text("device") + integer(segment.device) + text("address") +
                integer(segment.address) + text("blocks") +
                list(dict(text("size") + integer(512) + text("state") + text(segment.state))));
  }

  std::string text_ = "\x80\x02";
};

TEST(SnapshotReader, ReadsTheSegmentsOfOneDevice) {
  SnapshotText text;
  text.begin({{1, 4096, "active_allocated"},
              {2, 8192, "active_allocated"},
              {1, 12288, "active_awaiting_free"},
              {1, 16384, "inactive"}})
      .next_device()
      .entry("alloc", 512, 7)
      .next_device()
      .entry("alloc", 512, 8);
  std::istringstream in(text.end());
  SnapshotReader reader(in, "x.pickle", {}, 1);
  EXPECT_THAT(reader.other_devices(), ElementsAre(2u)) << "once";
  std::vector<std::string> ids;
  for (const PlainEvent& event : all_events(reader)) ids.push_back(event.id);
  EXPECT_THAT(ids, ElementsAre("0x1000", "0x3000", "0x200"));
}

TEST(SnapshotReader, ADeviceMayHaveSegmentsAndNoTrace) {
  SnapshotText text;
  text.begin({{1'000'000, 4096, "active_allocated"}});
  const auto events = events_of(text.end());
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].bytes, 512u) << "the block's size if there is no requested size";
}

TEST(SnapshotReader, NamesAStreamThatFails) {
  std::istringstream in("anything");
  in.setstate(std::ios::badbit);
  EXPECT_THAT([&] { SnapshotReader(in, "x.pickle"); },
              testing::ThrowsMessage<TraceError>(HasSubstr("x.pickle: the pickle cannot be read")));
}

TEST(SnapshotReader, ReadsTheFirstDeviceThatWasUsedOrTheOneAskedFor) {
  SnapshotText text;
  text.begin().next_device().entry("alloc", 4096, 1).next_device().entry("alloc", 8192, 2);
  const std::string pickle = text.end();
  EXPECT_EQ(events_of(pickle)[0].bytes, 1u);
  EXPECT_EQ(events_of(pickle, 2)[0].bytes, 2u);
  std::istringstream in(pickle);
  const SnapshotReader reader(in, "x.pickle");
  EXPECT_EQ(reader.device(), 1u);
  EXPECT_THAT(reader.other_devices(), ElementsAre(2u));
}

TEST(SnapshotReader, AnEmptySnapshotHasNoEvents) {
  SnapshotText text;
  text.begin();
  EXPECT_TRUE(events_of(text.end()).empty());
}

std::string refusal(const std::string& pickle, std::optional<std::size_t> device = {}) {
  try {
    events_of(pickle, device);
  } catch (const TraceError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(SnapshotReader, RefusesByPlaceAndField) {
  EXPECT_THAT(refusal("\x80\x02]."),
              HasSubstr("x.pickle, the pickle: got type list, expected a memory"));
  EXPECT_THAT(
      refusal("\x80\x02}."),
      HasSubstr("x.pickle, the snapshot, field device_traces: got none, expected type list"));
  SnapshotText negative;
  negative.begin().entry("alloc", 4096, -1);
  EXPECT_THAT(refusal(negative.end()),
              HasSubstr("x.pickle, device_traces[0][0], field size: got -1, expected 0 or more"));
  SnapshotText address;
  address.begin().entry("alloc", 4096, 1).entry("alloc", -5, 1);
  EXPECT_THAT(refusal(address.end()), HasSubstr("device_traces[0][1], field addr: got -5"));
  SnapshotText device;
  device.begin().entry("alloc", 4096, 1);
  EXPECT_THAT(refusal(device.end(), 3), HasSubstr("field device: got 3, expected one of 0"));
}

TEST(SnapshotReader, ABlockAllocatedTwiceIsNamed) {
  SnapshotText text;
  text.begin().entry("alloc", 4096, 1).entry("alloc", 4096, 1);
  std::istringstream in(text.end());
  SnapshotReader reader(in, "x.pickle");
  LiveEvents events(reader);
  ASSERT_TRUE(events.next());
  EXPECT_THAT([&] { events.next(); },
              testing::ThrowsMessage<TraceError>(HasSubstr(
                  "x.pickle, device_traces[0][1], field id: got \"0x1000\", which is alive")));
}

}  // namespace
}  // namespace skyline
