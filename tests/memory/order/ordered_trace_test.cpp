#include "memory/order/placed_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memory/order/order_problem.h"
#include "memory/random_inputs.h"
#include "tests/memory/order/step_graphs.h"
#include "tests/memory/planners/effort.h"
#include "tests/memory/random_traces.h"

namespace skyline {
namespace {

TEST(OrderedTrace, RenumbersControlEdges) {
  StepGraph graph = chain(3, {}).graph;
  graph.ops[1].after.clear();
  const std::vector<OpId> order = {1, 2, 0};
  EXPECT_THAT(reordered(graph, order).ops[1].after, testing::ElementsAre(0));
}

TEST(OrderedTrace, NeedsThePeakOfTheOrder) {
  for (const OrderOptions& options :
       {OrderOptions{}, OrderOptions{.in_place = false}, OrderOptions{.alignment = 4}}) {
    for (const std::uint64_t seed : seeds(500, kGraphSeed)) {
      const StepGraph graph = RandomStepGraph(seed).draw(12);
      const OrderAnswer best = order(graph, "optimal", options);
      const Trace trace = trace_of_order(graph, best.order, options);
      ASSERT_EQ(lower_bound_bytes(trace, options.alignment), best.peak) << "seed " << seed;
    }
  }
}

TEST(OrderedTrace, LeavesOutRequestsOfNoBytes) {
  GraphBuilder b;
  b.op("f", {}, {b.value(0), b.value(3)});
  const Trace trace = trace_of_order(b.graph, std::vector<OpId>{0}, {});
  ASSERT_EQ(trace.size(), 1u);
  EXPECT_EQ(trace.blocks[0].bytes, 3u);
}

}  // namespace
}  // namespace skyline
