#include "memory/order/search/max_flow.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "memory/planners/search.h"

namespace skyline {
namespace {

struct Arc {
  MaxFlow::Node from, to;
  std::uint64_t capacity;
};

// The least capacity over all cuts between nodes 0 and 1.
std::uint64_t least_cut(std::size_t nodes, const std::vector<Arc>& arcs) {
  std::uint64_t least = MaxFlow::kUnlimited;
  for (std::uint32_t set = 0; set < 1u << nodes; ++set) {
    if ((set & 3) != 1) continue;
    std::uint64_t cut = 0;
    for (const Arc& arc : arcs) {
      if ((set >> arc.from & 1) != 0 && (set >> arc.to & 1) == 0) cut += arc.capacity;
    }
    least = std::min(least, cut);
  }
  return least;
}

TEST(MaxFlow, EqualsTheLeastCut) {
  constexpr std::size_t kNodes = 7;
  SplitMix random(5);
  MaxFlow flow;
  for (int k = 0; k < 500; ++k) {
    std::vector<Arc> arcs;
    flow.reset(kNodes);
    for (std::uint64_t count = random.below(20); count > 0; --count) {
      const auto from = static_cast<MaxFlow::Node>(random.below(kNodes));
      const auto to = static_cast<MaxFlow::Node>(random.below(kNodes));
      if (from == to) continue;
      arcs.push_back({from, to, random.below(10)});
      flow.add_arc(from, to, arcs.back().capacity);
    }
    ASSERT_EQ(flow.run(0, 1), least_cut(kNodes, arcs)) << "network " << k;
    std::uint64_t across = 0, leaving = 0, arriving = 0;
    for (MaxFlow::Arc a = 0; a < arcs.size(); ++a) {
      ASSERT_LE(flow.flow(a), arcs[a].capacity);
      if (flow.on_source_side(arcs[a].from) && !flow.on_source_side(arcs[a].to)) {
        across += arcs[a].capacity;
      }
      if (arcs[a].from == 0) leaving += flow.flow(a);
      if (arcs[a].to == 0) arriving += flow.flow(a);
    }
    EXPECT_EQ(across, leaving - arriving);
  }
}

TEST(MaxFlow, PassesUnlimitedArcsAndStopsWhenItIsEnough) {
  MaxFlow flow;
  const auto build = [&] {
    flow.reset(2);
    const MaxFlow::Node a = flow.add_node(), b = flow.add_node();
    for (const MaxFlow::Node node : {a, b}) {
      flow.add_arc(0, node, 5);
      flow.add_arc(node, 1, MaxFlow::kUnlimited);
    }
  };
  build();
  EXPECT_EQ(flow.run(0, 1), 10u);
  build();
  EXPECT_EQ(flow.run(0, 1, 3), 5u);
}

TEST(MaxFlow, FollowsLongPaths) {
  MaxFlow flow;
  flow.reset(2);
  MaxFlow::Node last = 0;
  for (int k = 0; k < 200'000; ++k) {
    const MaxFlow::Node next = flow.add_node();
    flow.add_arc(last, next, 7);
    last = next;
  }
  flow.add_arc(last, 1, 4);
  EXPECT_EQ(flow.run(0, 1), 4u);
}

}  // namespace
}  // namespace skyline
