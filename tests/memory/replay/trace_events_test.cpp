#include "memory/replay/trace_events.h"

#include <gtest/gtest.h>

#include "tests/memory/replay/replayed_events.h"

namespace skyline {
namespace {

using EventKind = AllocationEvent::Kind;

std::string order_of(const Trace& trace) {
  TraceEventReader reader(trace, "trace");
  std::string order;
  for (const PlainEvent& event : all_events(reader)) {
    order += (event.kind == EventKind::kAllocation ? "+" : "-") + event.id + " ";
  }
  return order;
}

TEST(TraceEventReader, FreesComeBeforeAllocationsOfATick) {
  EXPECT_EQ(order_of({.blocks = {{3, 9, 4}, {0, 3, 4}, {0, 9, 4}, {9, 21, 4}}}),
            "+1 +2 -1 +0 -0 -2 +3 -3 ");
}

TEST(TraceEventReader, AnEmptyTraceHasNone) { EXPECT_EQ(order_of({}), ""); }

TEST(TraceEventReader, CarryIdsBytesAndTags) {
  const Trace trace{.blocks = {{0, 1, 7}},
                    .ids = {"x"},
                    .tags = {{"conv2d", "conv1", Phase::kForward, Category::kActivation}}};
  TraceEventReader reader(trace, "trace");
  EXPECT_TRUE(reader.tagged());
  EXPECT_EQ(reader.place().source, "trace") << "before its first event";
  const auto events = all_events(reader);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0], (PlainEvent{EventKind::kAllocation, "x", 7, trace.tags[0], {}}));
  EXPECT_EQ(reader.place().source, "trace tick 1");
}

}  // namespace
}  // namespace skyline
