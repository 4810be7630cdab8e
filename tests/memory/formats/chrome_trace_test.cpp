#include "memory/formats/chrome_trace.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "memory/allocators/allocators.h"
#include "memory/formats/csv/event_csv.h"
#include "memory/replay/trace_events.h"
#include "tests/memory/random_traces.h"
#include "tests/memory/replay/replayed_events.h"

namespace skyline {
namespace {

nlohmann::json trace_of(EventReader& reader, std::optional<std::size_t> capacity = {}) {
  SimulatedDevice device(capacity);
  const auto allocator = make_allocator("best-fit-pool", device);
  std::string text;
  ChromeTraceWriter writer([&](std::string_view bytes) { text += bytes; }, "best-fit-pool",
                           *allocator);
  EventReplay replay("best-fit-pool", *allocator, device, {&writer});
  LiveEvents events(reader);
  while (events.next()) replay.apply(events);
  replay.finish(events);
  return nlohmann::json::parse(text)["traceEvents"];
}

nlohmann::json trace_of(const std::string& text, std::optional<std::size_t> capacity = {}) {
  std::istringstream in(text);
  EventCsvReader reader(in, "events.csv");
  return trace_of(reader, capacity);
}

std::vector<nlohmann::json> of_phase(const nlohmann::json& trace, const std::string& phase) {
  std::vector<nlohmann::json> events;
  for (const auto& event : trace) {
    if (event["ph"] == phase) events.push_back(event);
  }
  return events;
}

TEST(ChromeTraceWriter, WritesASliceForEachBlock) {
  const auto slices = of_phase(
      trace_of("event,id,bytes,tag,category\na,x,5,relu,activation\na,\"y\"\"\n\",7,,\nf,x,,,\n"),
      "X");
  ASSERT_EQ(slices.size(), 2u);
  EXPECT_EQ(slices[0]["name"], "x");
  EXPECT_EQ(slices[0]["cat"], "activation");
  EXPECT_EQ(slices[0]["ts"], 0);
  EXPECT_EQ(slices[0]["dur"], 2);
  EXPECT_EQ(slices[0]["args"]["bytes"], 5);
  EXPECT_EQ(slices[0]["args"]["op"], "relu");
  EXPECT_EQ(slices[1]["name"], "y\"\n");
  EXPECT_EQ(slices[1]["dur"], 2) << "to the end";
}

TEST(ChromeTraceWriter, CountsBytesAtEveryEvent) {
  std::map<std::string, std::vector<int>> counters;
  for (const auto& event : of_phase(trace_of("event,id,bytes\na,x,5\na,y,1000\nf,x,\n"), "C")) {
    counters[event["name"]].push_back(event["args"]["bytes"]);
  }
  EXPECT_EQ(counters["requested"], (std::vector<int>{5, 1005, 1000}));
  EXPECT_EQ(counters["allocated"], (std::vector<int>{512, 1536, 1024}));
  EXPECT_EQ(counters["reserved"], (std::vector<int>{512, 1536, 1536}));
}

TEST(ChromeTraceWriter, MarksStepsAndShortages) {
  const auto marks = of_phase(trace_of("event,id,bytes\ns,,\na,x,5\na,y,9999\ns,,\n", 1024), "i");
  ASSERT_EQ(marks.size(), 3u);
  EXPECT_EQ(marks[0]["name"], "step 0");
  EXPECT_TRUE(marks[1]["name"].get<std::string>().starts_with("[best-fit-pool on simulated]"));
  EXPECT_EQ(marks[2]["name"], "step 1");
  EXPECT_EQ(marks[2]["ts"], 2);
}

TEST(ChromeTraceWriter, SlicesOfALaneNeverOverlap) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    TraceEventReader events(random_trace(seed, 200, 100, 1000), "trace");
    std::map<int, std::map<int, int>> lanes;  // end by begin
    const auto slices = of_phase(trace_of(events), "X");
    EXPECT_EQ(slices.size(), 200u);
    for (const auto& slice : slices) {
      const int begin = slice["ts"], end = begin + slice["dur"].get<int>();
      EXPECT_TRUE(lanes[slice["tid"]].emplace(begin, end).second);
    }
    for (const auto& [lane, ends] : lanes) {
      int free_from = 0;
      for (const auto& [begin, end] : ends) {
        EXPECT_GE(begin, free_from) << "seed " << seed << " lane " << lane;
        free_from = end;
      }
    }
  }
}

}  // namespace
}  // namespace skyline
