// Random event traces through every format and back: the copy makes the same requests.
#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "memory/allocators/allocators.h"
#include "memory/formats/csv/event_csv.h"
#include "memory/formats/csv/rmm_log.h"
#include "memory/formats/csv/trace_csv.h"
#include "memory/formats/open_events.h"
#include "memory/replay/trace_events.h"
#include "tests/memory/replay/replayed_events.h"

namespace skyline {
namespace {

constexpr unsigned kSeeds = 200;
constexpr std::size_t kCapacityBytes = std::size_t{1} << 22;

// Allocations, frees and steps with a few names that recur, and sizes of all magnitudes.
std::string random_events(unsigned seed) {
  std::mt19937 random(seed);
  std::string text = "event,id,bytes,tag,layer,phase,category,stream,pool\n";
  std::vector<std::string> live;
  for (int i = 0; i < 120; ++i) {
    const unsigned choice = random() % 16;
    if (choice == 0) {
      text += std::string(1, "sic"[random() % 3]) + ",,,,,,,,\n";
    } else if (choice < 8 && !live.empty()) {
      const auto chosen = live.begin() + static_cast<std::ptrdiff_t>(random() % live.size());
      text += "f,\"" + *chosen + "\",,,,,,,\n";
      live.erase(chosen);
    } else {
      const std::string id = "b," + std::to_string(random() % 40);
      if (std::find(live.begin(), live.end(), id) != live.end()) continue;
      live.push_back(id);
      text += "a,\"" + id + "\"," + std::to_string(random() % (1u << (random() % 22)));
      text += random() % 2 == 0 ? ",conv2d,conv1,forward,activation,7,0.1\n" : ",,,,,,\n";
    }
  }
  return text;
}

std::vector<std::int64_t> served_of(const std::string& text) {
  std::istringstream in(text);
  SimulatedDevice device;
  return served(*open_events(in, "copy").reader, device);
}

// Replays a trace under an allocator with little memory; returns what was served.
template <class MakeWriter>
std::vector<std::int64_t> replay_under(const std::string& name, const std::string& text,
                                       MakeWriter make_writer) {
  std::istringstream in(text);
  EventCsvReader reader(in, "events");
  SimulatedDevice device(kCapacityBytes);
  const auto allocator = make_allocator(name, device);
  const std::unique_ptr<ReplayObserver> writer = make_writer();
  ServedBytes served_bytes;
  EventReplay replay(name, *allocator, device, {writer.get(), &served_bytes});
  LiveEvents events(reader);
  while (events.next()) replay.apply(events);
  replay.finish(events);
  return served_bytes.bytes;
}

TEST(RoundTrip, EventTraces) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    const std::string text = random_events(seed);
    std::istringstream in(text);
    EventCsvReader reader(in, "events");
    const auto events = all_events(reader);
    std::string copy;
    EventCsvWriter writer([&](std::string_view bytes) { copy += bytes; }, reader.tagged());
    for (const PlainEvent& event : events) {
      const BlockTag& tag = event.tag;
      writer.write({event.kind,
                    event.id,
                    event.bytes,
                    {tag.op, tag.layer, tag.phase, tag.category},
                    event.stream,
                    event.pool});
    }
    writer.finish();
    std::istringstream again(copy);
    EventCsvReader back(again, "copy");
    EXPECT_EQ(all_events(back), events) << "seed " << seed;
  }
}

std::vector<std::int64_t> without_zeros(std::vector<std::int64_t> bytes) {
  std::erase(bytes, 0);
  return bytes;
}

TEST(RoundTrip, RmmsLogUnderEveryAllocator) {
  for (const AllocatorEntry& entry : allocator_table()) {
    for (unsigned seed = 0; seed < kSeeds; ++seed) {
      std::string log;
      const auto expected = replay_under(std::string(entry.name), random_events(seed), [&] {
        return std::make_unique<RmmLogWriter>([&](std::string_view bytes) { log += bytes; });
      });
      // RMM's logs do not tell a block of 0 bytes at the null address from none.
      ASSERT_EQ(without_zeros(served_of(log)), without_zeros(expected))
          << entry.name << " seed " << seed;
    }
  }
}

// A trace of lifetimes ends with frees where the events just end, and it has no steps.
TEST(RoundTrip, TracesOfLifetimes) {
  for (unsigned seed = 0; seed < kSeeds; ++seed) {
    const std::string text = random_events(seed);
    std::istringstream in(text);
    EventCsvReader reader(in, "events");
    LiveEvents events(reader);
    TraceBuilder collected(1000, TraceBuilder::Keep::kNames);
    while (events.next()) collected.apply(events);
    std::stringstream csv;
    write_trace_csv(csv, collected.take(events));
    const std::vector<std::int64_t> before = served_of(text);
    std::vector<std::int64_t> after = served_of(csv.str());
    ASSERT_GE(after.size(), before.size());
    after.resize(before.size());
    ASSERT_EQ(after, before) << "seed " << seed;
  }
}

}  // namespace
}  // namespace skyline
