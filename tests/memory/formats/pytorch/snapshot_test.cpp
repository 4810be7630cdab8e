#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "memory/allocators/allocators.h"
#include "memory/formats/csv/event_csv.h"
#include "memory/formats/pytorch/snapshot_reader.h"
#include "memory/formats/pytorch/snapshot_writer.h"
#include "memory/session/session.h"
#include "tests/memory/formats/pytorch/python_pickles.h"
#include "tests/memory/replay/replayed_events.h"

namespace skyline {
namespace {

using Kind = AllocationEvent::Kind;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::size_t kMiB = std::size_t{1} << 20;

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
  EXPECT_EQ(events[0], (PlainEvent{Kind::kAllocation, "0x7f0000000000", 300, conv, {}}));
  EXPECT_EQ(events[1], (PlainEvent{Kind::kAllocation, "0x7f0000000200", 400, {}, {}}));
  EXPECT_EQ(events[2], (PlainEvent{Kind::kAllocation, "0x7f0000001000", 64, conv, {}}))
      << "the trace frees it";
  EXPECT_EQ(events[3], (PlainEvent{Kind::kFree, "0x7f0000001000", 0, {}, {}}));
  EXPECT_EQ(events[4], (PlainEvent{Kind::kAllocation, "0x7f0000000400", 1000, gradient, {}}))
      << "a segment holds it too, but it came in the trace";
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

// Builds a snapshot from a few words, with the writer of pickles.
class SnapshotText {
 public:
  SnapshotText() : pickle_([this](std::string_view bytes) { text_ += bytes; }) {}
  PickleWriter& operator*() { return pickle_; }
  std::string str() {
    pickle_.finish();
    return text_;
  }
  SnapshotText& entry(std::string_view action, std::int64_t address, std::int64_t bytes) {
    pickle_.begin_dict();
    pickle_.text("action");
    pickle_.text(action);
    pickle_.text("addr");
    pickle_.integer(address);
    pickle_.text("size");
    pickle_.integer(bytes);
    pickle_.end_dict();
    return *this;
  }
  // One block each.
  struct SegmentOf {
    std::int64_t device, address;
    std::string_view state;
  };
  SnapshotText& begin(const std::vector<SegmentOf>& segments = {}) {
    pickle_.begin_dict();
    pickle_.text("segments");
    pickle_.begin_list();
    for (const SegmentOf& each : segments) segment(each);
    pickle_.end_list();
    pickle_.text("device_traces");
    pickle_.begin_list();
    pickle_.begin_list();
    return *this;
  }
  SnapshotText& next_device() {
    pickle_.end_list();
    pickle_.begin_list();
    return *this;
  }
  std::string end() {
    pickle_.end_list();
    pickle_.end_list();
    pickle_.end_dict();
    return str();
  }

 private:
  void segment(const SegmentOf& segment) {
    pickle_.begin_dict();
    pickle_.text("device");
    pickle_.integer(segment.device);
    pickle_.text("address");
    pickle_.integer(segment.address);
    pickle_.text("blocks");
    pickle_.begin_list();
    pickle_.begin_dict();
    pickle_.text("size");
    pickle_.integer(512);
    pickle_.text("state");
    pickle_.text(segment.state);
    pickle_.end_dict();
    pickle_.end_list();
    pickle_.end_dict();
  }

  std::string text_;
  PickleWriter pickle_;
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
  EXPECT_EQ(events[0].bytes, 512u) << "without a requested size, the block's";
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
  SnapshotText list;
  (*list).begin_list();
  (*list).end_list();
  EXPECT_THAT(refusal(list.str()),
              HasSubstr("x.pickle, the pickle: got type list, expected a memory"));
  SnapshotText empty;
  (*empty).begin_dict();
  (*empty).end_dict();
  EXPECT_THAT(
      refusal(empty.str()),
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
  EXPECT_THAT(
      [&] { events.next(); },
      testing::ThrowsMessage<TraceError>(HasSubstr(
          "x.pickle, device_traces[0][1], field id: got \"0x1000\" of a block that is alive")));
}

// --- the writer ---

const char* const kEvents =
    "event,id,bytes,tag,layer\na,W,40000,linear,fc1\na,b,40,,\na,X,4000,,\na,ws,8519680,,\ns,,,,\n"
    "a,xw,40,,\na,y,40,,\nf,xw,,,\na,much,99999999999,,\nf,much,,,\n";

std::unique_ptr<Allocator> make(const std::string& name, Device& device) {
  if (name == "planned") return std::make_unique<Session>(device);
  if (name == "expandable") {
    return make_allocator("caching", device, {.caching = {.expandable_segments = true}});
  }
  return make_allocator(name, device);
}

std::string snapshot_of(const std::string& text, const std::string& allocator_name) {
  std::istringstream in(text);
  EventCsvReader reader(in, "events.csv");
  SimulatedDevice simulated(64 * kMiB);
  ObservedDevice device(simulated);
  const auto allocator = make(allocator_name, device);
  std::string pickle;
  SnapshotWriter writer([&](std::string_view bytes) { pickle += bytes; }, device);
  EventReplay replay(allocator_name, *allocator, device, {&writer});
  LiveEvents events(reader);
  while (events.next()) replay.apply(events);
  replay.finish(events);
  return pickle;
}

std::vector<std::string> all_allocators() {
  std::vector<std::string> names = {"planned", "expandable"};
  for (const AllocatorEntry& entry : allocator_table()) names.emplace_back(entry.name);
  return names;
}

class SnapshotOfReplay : public testing::TestWithParam<std::string> {};

TEST_P(SnapshotOfReplay, AsksForTheSameWhenItIsReadBack) {
  std::istringstream in(snapshot_of(kEvents, GetParam()));
  SnapshotReader reader(in, "x.pickle");
  SimulatedDevice device;
  EXPECT_THAT(served(reader, device), ElementsAre(40000, 40, 4000, 8519680, 40, 40, -40));
}

// What memory_viz takes for granted when it goes back in time.
TEST_P(SnapshotOfReplay, SegmentsAreFilledByTheirBlocksAndEqualTheTraceOfSegments) {
  const PickleDocument pickle(snapshot_of(kEvents, GetParam()), "x.pickle");
  const auto number = [&](PickleDocument::Value dict, std::string_view key) {
    return pickle.integer(pickle.find(dict, key).value());
  };
  std::int64_t total = 0, requested = 0;
  for (const auto segment : pickle.items(pickle.find(pickle.root(), "segments").value())) {
    std::int64_t at = number(segment, "address");
    for (const auto block : pickle.items(pickle.find(segment, "blocks").value())) {
      EXPECT_EQ(number(block, "address"), at);
      EXPECT_GT(number(block, "size"), 0);
      at += number(block, "size");
      requested += number(block, "requested_size");
      EXPECT_LE(number(block, "requested_size"), number(block, "size"));
    }
    EXPECT_EQ(at, number(segment, "address") + number(segment, "total_size"));
    total += number(segment, "total_size");
  }
  EXPECT_EQ(requested, 40000 + 40 + 4000 + 8519680 + 40);
  std::int64_t taken = 0;
  const auto traces = pickle.items(pickle.find(pickle.root(), "device_traces").value());
  ASSERT_EQ(traces.size(), 1u);
  for (const auto entry : pickle.items(traces[0])) {
    const auto action = pickle.text(pickle.find(entry, "action").value());
    if (action == "segment_alloc" || action == "segment_map") taken += number(entry, "size");
    if (action == "segment_free" || action == "segment_unmap") taken -= number(entry, "size");
  }
  EXPECT_EQ(taken, total);
}

INSTANTIATE_TEST_SUITE_P(Allocators, SnapshotOfReplay, testing::ValuesIn(all_allocators()),
                         [](const auto& name) {
                           std::string plain = name.param;
                           std::erase(plain, '-');
                           return plain;
                         });

TEST(SnapshotWriter, TagsComeBack) {
  const auto events = events_of(
      snapshot_of("event,id,bytes,tag,layer,category\na,x,8,conv2d,conv1,activation\na,y,9,,,\n",
                  "best-fit-pool"));
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].tag, (BlockTag{"conv2d", "conv1", Phase::kOutside, Category::kActivation}));
  EXPECT_EQ(events[1].tag.op, "y") << "a block without a tag is called by its name";
  EXPECT_EQ(events[1].tag.category, Category::kUnknown);
}

TEST(SnapshotWriter, ARangeThatGrowsAndShrinksIsOneSegment) {
  // After its first step the session plans the block of the second one into its arena.
  std::string text = "event,id,bytes\n";
  for (int step = 0; step < 3; ++step) text += "s,,\na,x,1048576\nf,x,\n";
  const PickleDocument pickle(snapshot_of(text + "s,,\na,x,1048576\n", "planned"), "x.pickle");
  const auto segments = pickle.items(pickle.find(pickle.root(), "segments").value());
  ASSERT_EQ(segments.size(), 1u);
  EXPECT_TRUE(pickle.boolean(pickle.find(segments[0], "is_expandable").value()));
  EXPECT_EQ(pickle.integer(pickle.find(segments[0], "total_size").value()), 1048576);
}

// Of the segments of a replay: the type of each, with a + where it can grow.
std::vector<std::string> segment_types(const std::string& pickle_text) {
  const PickleDocument pickle(pickle_text, "x.pickle");
  std::vector<std::string> types;
  for (const auto segment : pickle.items(pickle.find(pickle.root(), "segments").value())) {
    types.emplace_back(pickle.text(pickle.find(segment, "segment_type").value()));
    if (pickle.boolean(pickle.find(segment, "is_expandable").value())) types.back() += '+';
  }
  return types;
}

TEST(SnapshotWriter, SegmentsUpTo2MiBAreSmall) {
  EXPECT_THAT(
      segment_types(snapshot_of("event,id,bytes\na,x,2097152\na,y,2097153\n", "best-fit-pool")),
      ElementsAre("small", "large"));
}

TEST(SnapshotWriter, ARangeBehindASegmentIsNoPartOfIt) {
  // The simulated device puts the arena right behind the block of exactly 2 MiB.
  EXPECT_THAT(segment_types(snapshot_of(
                  "event,id,bytes\ns,,\na,x,512\nf,x,\na,w,2097152\ns,,\na,x,512\n", "planned")),
              ElementsAre("small", "small+"));
}

TEST(SnapshotWriter, ARangeThatWasGivenBackIsNoSegment) {
  EXPECT_THAT(segment_types(snapshot_of("event,id,bytes\na,x,4000000\nf,x,\na,much,99999999999\n",
                                        "expandable")),
              ElementsAre());
}

TEST(SnapshotWriter, StreamsAreNumbersAndTheLastEntryHasACategoryWhereOthersHave) {
  for (const bool categorised : {false, true}) {
    const PickleDocument pickle(
        snapshot_of(std::string("event,id,bytes,stream,category\na,x,8,7,") +
                        (categorised ? "activation" : "") + "\na,y,8,7x,\na,z,8,,\n",
                    "best-fit-pool"),
        "x.pickle");
    const auto traces = pickle.items(pickle.find(pickle.root(), "device_traces").value());
    std::vector<std::int64_t> streams;
    for (const auto entry : pickle.items(traces[0])) {
      if (pickle.text(pickle.find(entry, "action").value()) != "alloc") continue;
      streams.push_back(pickle.integer(pickle.find(entry, "stream").value()));
    }
    EXPECT_THAT(streams, ElementsAre(7, 0, 0));
    EXPECT_EQ(pickle.find(pickle.items(traces[0]).back(), "category").has_value(), categorised);
  }
}

}  // namespace
}  // namespace skyline
