#include "memory/replay/event_replay.h"

#include <gtest/gtest.h>

#include <sstream>

#include "memory/formats/csv/event_csv.h"
#include "memory/replay/trace_events.h"
#include "tests/memory/random_traces.h"

namespace skyline {
namespace {

struct Demand {
  EventDemand demand;
  TraceBuilder collected;
  Trace trace;

  Demand(EventReader& reader, std::uint64_t alignment, std::size_t limit = 1000,
         TraceBuilder::Keep keep = TraceBuilder::Keep::kNames)
      : demand(alignment), collected(limit, keep) {
    LiveEvents events(reader);
    while (events.next()) {
      demand.apply(events);
      collected.apply(events);
    }
    trace = collected.take(events);
  }
};

Demand demand_of(const std::string& text, std::uint64_t alignment = 512) {
  std::istringstream in(text);
  EventCsvReader reader(in, "events.csv");
  return Demand(reader, alignment);
}

TEST(EventDemand, CountsBlocksAndTheLowerBound) {
  const Demand of = demand_of("event,id,bytes\na,x,513\na,y,1\nf,x,\ns,,\nc,,\na,x,512\n");
  EXPECT_EQ(of.demand.blocks(), 3u);
  EXPECT_EQ(of.demand.peak_live_blocks(), 2u);
  EXPECT_EQ(of.demand.lower_bound(), 1536u);
}

TEST(EventDemand, NoBytesNeedNone) {
  const Demand of = demand_of("event,id,bytes\na,x,0\na,y,0\n");
  EXPECT_EQ(of.demand.blocks(), 2u);
  EXPECT_EQ(of.demand.lower_bound(), 0u) << "caching and bfc hold nothing";
}

TEST(EventDemand, KnowsWhenSumsPassTheLargestNumber) {
  EXPECT_EQ(demand_of("event,id,bytes\na,x,9223372036854775807\n", 1).demand.lower_bound(),
            9223372036854775807u);
  EXPECT_FALSE(demand_of("event,id,bytes\na,x,9223372036854775807\n").demand.lower_bound());
  EXPECT_FALSE(
      demand_of("event,id,bytes\na,x,9223372036854775807\na,y,1\n", 1).demand.lower_bound());
  EXPECT_EQ(
      demand_of("event,id,bytes\na,x,9223372036854775807\nf,x,\na,y,1\n", 1).demand.lower_bound(),
      9223372036854775807u);
}

TEST(EventDemand, AnEmptyTraceAsksForNothing) {
  const Demand none = demand_of("event,id,bytes\n");
  EXPECT_EQ(none.demand.lower_bound(), 0u);
  EXPECT_EQ(none.trace.size(), 0u);
}

TEST(EventDemand, EqualsTheBoundOfTheTrace) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Trace trace = random_trace(seed, 30, 40, 1000);
    for (TraceBlock& block : trace.blocks) block.bytes = std::max<std::uint64_t>(block.bytes, 1);
    TraceEventReader events(trace, "trace");
    const Demand of(events, 64);
    EXPECT_EQ(of.demand.lower_bound(), lower_bound_bytes(trace, 64)) << "seed " << seed;
    EXPECT_EQ(lower_bound_bytes(of.trace, 64), lower_bound_bytes(trace, 64)) << "seed " << seed;
  }
}

TEST(TraceBuilder, BlocksLiveFromTheirAllocationToTheirFreeOrTheEnd) {
  const Demand of = demand_of("event,id,bytes\na,x,5\ns,,\na,y,7\nf,x,\na,x,9\n");
  EXPECT_EQ(of.trace.blocks, (std::vector<TraceBlock>{{0, 2, 5}, {1, 4, 7}, {3, 4, 9}}));
  EXPECT_EQ(of.trace.ids, (std::vector<std::string>{"x", "y", "x#2"}));
  EXPECT_TRUE(of.trace.tags.empty());
}

TEST(TraceBuilder, NamesThatComeAgainAreMadeToDiffer) {
  const Demand of =
      demand_of("event,id,bytes\na,x,1\nf,x,\na,x#2,1\na,x,1\nf,x,\na,x,1\nf,x,\na,x#3,1\n");
  EXPECT_EQ(of.trace.ids, (std::vector<std::string>{"x", "x#2", "x#4", "x#5", "x#3"}));
}

TEST(TraceBuilder, KeepsTags) {
  const Demand of = demand_of("event,id,bytes,tag,category\na,x,1,relu,gradient\na,y,1,,\n");
  ASSERT_EQ(of.trace.tags.size(), 2u);
  EXPECT_EQ(of.trace.tags[0].op, "relu");
  EXPECT_EQ(of.trace.tags[0].category, Category::kGradient);
}

TEST(TraceBuilder, KeepsNothingBeyondItsLimit) {
  std::istringstream in("event,id,bytes\na,x,1\na,y,1\na,z,1\nf,x,\n");
  EventCsvReader reader(in, "events.csv");
  const Demand of(reader, 512, 2, TraceBuilder::Keep::kBlocks);
  EXPECT_TRUE(of.collected.passed_limit());
  EXPECT_EQ(of.trace.size(), 0u);
  EXPECT_EQ(of.demand.blocks(), 3u) << "counting goes on";
}

}  // namespace
}  // namespace skyline
