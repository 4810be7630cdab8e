#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "memory/formats/pytorch/snapshot_reader.h"
#include "tests/memory/formats/pytorch/python_pickles.h"
#include "tests/memory/formats/pytorch/snapshot_text.h"
#include "tests/memory/replay/replayed_events.h"

namespace skyline {
namespace {

using EventKind = AllocationEvent::Kind;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<PlainEvent> snapshot_events(std::string_view pickle,
                                        std::optional<std::size_t> device = {}) {
  std::istringstream in{std::string(pickle)};
  SnapshotReader reader(in, "x.pickle", {}, device);
  return all_events(reader);
}

class SnapshotOfPython : public testing::TestWithParam<std::string> {};

TEST_P(SnapshotOfPython, ReadsBlocksFromBeforeTheTraceAndTheTrace) {
  const auto events = snapshot_events(GetParam());
  ASSERT_EQ(events.size(), 5u);
  const BlockTag conv{"conv", "net.py", Phase::kOutside, Category::kUnknown};
  const BlockTag gradient{"conv", "net.py", Phase::kOutside, Category::kGradient};
  EXPECT_EQ(events[0], (PlainEvent{EventKind::kAllocation, "0x7f0000000000", 300, conv, "0"}));
  EXPECT_EQ(events[1], (PlainEvent{EventKind::kAllocation, "0x7f0000000200", 400, {}, "0"}));
  EXPECT_EQ(events[2], (PlainEvent{EventKind::kAllocation, "0x7f0000001000", 64, conv, "0"}))
      << "the trace frees it";
  EXPECT_EQ(events[3], (PlainEvent{EventKind::kFree, "0x7f0000001000", 0, {}, {}}));
  EXPECT_EQ(events[4], (PlainEvent{EventKind::kAllocation, "0x7f0000000400", 1000, gradient, "0"}))
      << "also in a segment, but the trace allocates it";
}

std::string snapshot_with_protocol(std::string_view pickle, char protocol) {
  std::string other(pickle);
  other[1] = protocol;
  return other;
}
INSTANTIATE_TEST_SUITE_P(Protocols, SnapshotOfPython,
                         testing::Values(std::string(kSnapshotPickle2),
                                         snapshot_with_protocol(kSnapshotPickle2, 3),
                                         std::string(kSnapshotPickle4),
                                         snapshot_with_protocol(kSnapshotPickle4, 5)));

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
  EXPECT_THAT(reader.note(), testing::EndsWith("device 1 is replayed, 2 left out")) << "once";
  std::vector<std::string> ids;
  for (const PlainEvent& event : all_events(reader)) ids.push_back(event.id);
  EXPECT_THAT(ids, ElementsAre("0x1000", "0x3000", "0x200"));
}

TEST(SnapshotReader, ADeviceMayHaveSegmentsAndNoTrace) {
  SnapshotText text;
  text.begin({{1'000'000, 4096, "active_allocated"}});
  const auto events = snapshot_events(text.end());
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
  EXPECT_EQ(snapshot_events(pickle)[0].bytes, 1u);
  EXPECT_EQ(snapshot_events(pickle, 2)[0].bytes, 2u);
  std::istringstream in(pickle);
  const SnapshotReader reader(in, "x.pickle");
  EXPECT_EQ(reader.device(), 1u);
  EXPECT_THAT(reader.note(), testing::EndsWith("2 left out"));
}

TEST(SnapshotReader, AnEmptySnapshotHasNoEvents) {
  SnapshotText text;
  text.begin();
  EXPECT_TRUE(snapshot_events(text.end()).empty());
}

std::string snapshot_refusal(const std::string& pickle, std::optional<std::size_t> device = {}) {
  try {
    snapshot_events(pickle, device);
  } catch (const TraceError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(SnapshotReader, RefusesByPlaceAndField) {
  EXPECT_THAT(snapshot_refusal("\x80\x02)."),
              HasSubstr("x.pickle, the pickle: got type tuple, expected a memory"));
  EXPECT_THAT(snapshot_refusal("\x80\x02}."),
              HasSubstr("x.pickle, the snapshot, field segments: got none, expected type list"));
  SnapshotText negative;
  negative.begin().entry("alloc", 4096, -1);
  EXPECT_THAT(snapshot_refusal(negative.end()),
              HasSubstr("x.pickle, device_traces[0][0], field size: got -1, expected 0 or more"));
  SnapshotText address;
  address.begin().entry("alloc", 4096, 1).entry("alloc", -5, 1);
  EXPECT_THAT(snapshot_refusal(address.end()),
              HasSubstr("device_traces[0][1], field addr: got -5"));
  SnapshotText device;
  device.begin().entry("alloc", 4096, 1);
  EXPECT_THAT(snapshot_refusal(device.end(), 3),
              HasSubstr("field device: got 3, expected one of 0"));
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

// --- streams, private pools, settings, returns ---

PlainEvent request_of(const std::string& pickle) { return snapshot_events(pickle).at(0); }

TEST(SnapshotReader, RequestsHaveTheirStreamAndPrivatePool) {
  SnapshotText text;
  text.begin()
      .entry("alloc", 4096, 1, {.stream = 7, .pool = {{0, 3}}})
      .entry("alloc", 8192, 1, {.stream = -1, .pool = {{0, 0}}})
      .entry("alloc", 512, 1);
  const auto events = snapshot_events(text.end());
  EXPECT_EQ(events[0].stream, "7");
  EXPECT_EQ(events[0].pool, "0.3");
  EXPECT_EQ(events[1].stream, "-1") << "a pointer, perhaps";
  EXPECT_EQ(events[1].pool, "");
  EXPECT_EQ(events[2].stream + events[2].pool, "") << "unknown";
}

TEST(SnapshotReader, BeforeEntriesNamedThePoolTheFinalSegmentDoes) {
  SnapshotText text;
  text.begin({{0, 4096, "active_allocated", 5, {{0, 2}}}, {0, 8192, "inactive", 5, {{0, 0}}}})
      .entry("alloc", 8192 + 256, 1)
      .entry("free_completed", 8192 + 256, 1)
      .entry("alloc", 4096 + 511, 1)
      .entry("alloc", 4096 + 512, 1);
  const auto events = snapshot_events(text.end());
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[0].stream, "5") << "of the segment of a block that was alive before";
  EXPECT_EQ(events[0].pool, "0.2");
  EXPECT_EQ(events[1].pool, "");
  EXPECT_EQ(events[3].pool, "0.2");
  EXPECT_EQ(events[4].pool, "") << "between segments";
}

// The block of record_stream: asked to be freed, and used by another stream until completed.
TEST(SnapshotReader, ABlockIsInUseUntilItsFreeIsCompleted) {
  SnapshotText text;
  text.begin()
      .entry("alloc", 4096, 1)
      .entry("free_requested", 4096, 1)
      .entry("alloc", 8192, 1)
      .entry("free_completed", 4096, 1);
  const auto events = snapshot_events(text.end());
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[2].kind, EventKind::kFree);
}

TEST(SnapshotReader, SegmentsThatAreReturnedTogetherAreOneReturn) {
  SnapshotText text;
  text.begin()
      .entry("alloc", 4096, 1)
      .entry("segment_free", 8192, 1)
      .entry("segment_unmap", 16384, 1)
      .entry("segment_alloc", 8192, 1)
      .entry("alloc", 8192, 1)
      .entry("segment_free", 65536, 1);
  const auto events = snapshot_events(text.end());
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[1].kind, EventKind::kReturn);
  EXPECT_EQ(events[3].kind, EventKind::kReturn);
  text.settings("garbage_collection_threshold", SnapshotText::real(0.5));
  EXPECT_EQ(snapshot_events(text.end()).size(), 3u) << "the first was garbage collection, perhaps";
}

std::optional<CachingOptions> options_of(SnapshotText text) {
  std::istringstream in{text.end()};
  return SnapshotReader(in, "x.pickle").recorded_options();
}

TEST(SnapshotReader, ReadsTheSettingsOfTheAllocator) {
  SnapshotText text;
  text.begin();
  EXPECT_FALSE(options_of(text)) << "PyTorch before 2.1";
  text.settings("last", "N");
  EXPECT_EQ(options_of(text), CachingOptions());
  text.settings("expandable_segments", "\x88")
      .settings("max_split_size", SnapshotText::integer(64 << 20))
      .settings("garbage_collection_threshold", SnapshotText::real(0.75));
  EXPECT_EQ(options_of(text), (CachingOptions{.max_split_bytes = std::uint64_t{64} << 20,
                                              .garbage_collection_threshold = 0.75,
                                              .expandable_segments = true}));
  text.settings("max_split_size", SnapshotText::integer(-1));
  EXPECT_FALSE(options_of(text)->max_split_bytes) << "the largest size: no limit";
}

TEST(SnapshotReader, ReadsSettingsFromTheVariableThatHeldThem) {
  SnapshotText text;
  text.begin().settings(
      "PYTORCH_CUDA_ALLOC_CONF",
      SnapshotText::text("backend:native, expandable_segments:True, "
                         "roundup_power2_divisions:[256:2,512:4,>:8],"
                         "max_split_size_mb:64,garbage_collection_threshold:0.5"));
  EXPECT_EQ(options_of(text), (CachingOptions{.max_split_bytes = std::uint64_t{64} << 20,
                                              .garbage_collection_threshold = 0.5,
                                              .expandable_segments = true,
                                              .roundup_power2_divisions =
                                                  RoundupDivisions::read("[256:2,512:4,>:8]")}));
  text.settings("max_split_size", SnapshotText::integer(32 << 20));
  EXPECT_EQ(options_of(text)->max_split_bytes, std::uint64_t{32} << 20) << "as PyTorch took it";
  EXPECT_EQ(
      options_of(SnapshotText().begin().settings("PYTORCH_ALLOC_CONF", SnapshotText::text("")))
          ->max_split_bytes,
      std::nullopt);
}

TEST(SnapshotReader, ReadsDivisionsAsANumberADictOrAList) {
  const auto divisions = [](const std::string& value) {
    SnapshotText text;
    text.begin().settings("roundup_power2_divisions", value);
    return options_of(text)->roundup_power2_divisions.text();
  };
  using Text = SnapshotText;
  EXPECT_EQ(divisions(Text::integer(4)), "4");
  EXPECT_EQ(divisions(Text::integer(0)), "1");
  EXPECT_EQ(divisions(Text::dict(Text::text("1") + Text::integer(8) + Text::text("4") +
                                 Text::integer(2))),
            "[1:8,2:1,4:2,>:1]");
  EXPECT_EQ(divisions(Text::list(Text::integer(0) + Text::integer(16))), "[1:1,2:16,>:1]");
}

TEST(SnapshotReader, RefusesSettingsThatPyTorchRefuses) {
  const auto with = [](std::string_view key, const std::string& value) {
    SnapshotText text;
    return snapshot_refusal(text.begin().settings(key, value).end());
  };
  EXPECT_THAT(with("max_split_size", SnapshotText::integer(1000)),
              HasSubstr("allocator_settings, field max_split_size: got 1000, expected whole MiB"));
  EXPECT_THAT(with("garbage_collection_threshold", SnapshotText::real(2)),
              HasSubstr("field garbage_collection_threshold: got 2, expected from 0 to 1"));
  EXPECT_THAT(with("roundup_power2_divisions", SnapshotText::integer(3)),
              HasSubstr("field roundup_power2_divisions: got a value that is not 0 or a power"));
  EXPECT_THAT(with("roundup_power2_divisions", SnapshotText::list("N")),
              HasSubstr("field roundup_power2_divisions"));
  for (const char* text :
       {"max_split_size_mb:20", "max_split_size_mb:99999999999999999999", "max_split_size_mb",
        "expandable_segments:yes", "expandable_segments:", "garbage_collection_threshold:2",
        "roundup_power2_divisions:3", "roundup_power2_divisions:[256:1"}) {
    EXPECT_THAT(with("PYTORCH_CUDA_ALLOC_CONF", SnapshotText::text(text)),
                HasSubstr(std::string("field PYTORCH_CUDA_ALLOC_CONF: got \"") + text));
  }
}

// --- other forms, and limits ---

TEST(SnapshotReader, ReadsAListOfSegments) {
  const std::string pickle =
      "\x80\x02" +
      SnapshotText::list(SnapshotText::segment({0, 4096, "active_allocated", 3}) +
                         SnapshotText::segment({0, 8192, "inactive"})) +
      ".";
  const auto events = snapshot_events(pickle);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0], (PlainEvent{EventKind::kAllocation, "0x1000", 512, {}, "3"}));
  EXPECT_TRUE(snapshot_events("\x80\x02].").empty());
}

TEST(SnapshotReader, AddressesHave64Bits) {
  SnapshotText text;
  text.begin()
      .entry("alloc", std::uint64_t{1} << 63, 1)
      .entry("alloc", ~std::uint64_t{0}, 1)
      .entry("free_completed", ~std::uint64_t{0}, 1);
  EXPECT_EQ(snapshot_events(text.end())[1].id, "0xffffffffffffffff");
  SnapshotText large;
  large.begin().entry("alloc", 4096, std::uint64_t{1} << 63);
  EXPECT_THAT(snapshot_refusal(large.end()),
              HasSubstr("field size: got 9223372036854775808, expected at most"));
}

// Each object is 2 bytes where it is named again, so a small file could stand for a large one.
TEST(SnapshotReader, RefusesObjectsThatAreNamedAgain) {
  const std::string segment = SnapshotText::segment({0, 4096, "active_allocated"});
  const std::string segments = SnapshotText::list(segment + "q\x01" + "h\x01");
  EXPECT_THAT(snapshot_refusal("\x80\x02" + segments + "."),
              HasSubstr("segments[1]: got an object that was there before, expected a new one"));
  const std::string block =
      SnapshotText::dict(SnapshotText::text("size") + SnapshotText::integer(16) +
                         SnapshotText::text("state") + SnapshotText::text("inactive"));
  const std::string blocks = SnapshotText::list(block + "q\x02" + "h\x02");
  EXPECT_THAT(snapshot_refusal("\x80\x02" +
                               SnapshotText::list(SnapshotText::dict(
                                   SnapshotText::text("address") + SnapshotText::integer(0) +
                                   SnapshotText::text("blocks") + blocks)) +
                               "."),
              HasSubstr("segments[0].blocks[1]: got an object that was there before"));
  SnapshotText text;
  text.begin().entry("alloc", 4096, 1);
  text.again();
  EXPECT_THAT(snapshot_refusal(text.end()),
              HasSubstr("device_traces[0][1]: got an object that was there"));
}

// PyTorch names a list of frames again for each entry.
TEST(SnapshotReader, CutsLongNamesAndLeavesOutOddFrames) {
  const auto op = [](const std::string& name, int more_keys) {
    std::string pairs = SnapshotText::text("name") + SnapshotText::text(name);
    for (int i = 0; i < more_keys; ++i) pairs += SnapshotText::text(std::to_string(i)) + "N";
    SnapshotText text;
    text.begin().entry("alloc", 4096, 1, {.frames = SnapshotText::list(SnapshotText::dict(pairs))});
    return request_of(text.end()).tag.op;
  };
  EXPECT_EQ(op(std::string(1000, 'x'), 2), std::string(256, 'x'));
  EXPECT_EQ(op("f", 100), "");
}

}  // namespace
}  // namespace skyline
