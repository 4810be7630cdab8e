#include "memory/step_graph.h"

#include <gtest/gtest.h>

#include "memory/errors.h"
#include "tests/memory/order/step_graphs.h"

namespace skyline {
namespace {

using Blocks = std::vector<TraceBlock>;

TEST(Simulate, CountsReadersAndFreesWithTheLastOne) {
  GraphBuilder b;
  const ValueId x = b.value(), y = b.value(), z = b.value();
  b.op("load", {}, {x});
  b.op("f", {x}, {y});
  b.op("g", {x, y}, {z});
  EXPECT_EQ(simulate(b.graph).blocks, (Blocks{{0, 3, 100}, {1, 4, 100}, {2, 5, 100}}));
}

// z lies in x's bytes: one block is requested, read, written over and read again.
TEST(Simulate, TellsWhatEachOpDoesWithABlock) {
  GraphBuilder b;
  const ValueId x = b.value(), z = b.value(), y = b.value();
  b.op("load", {}, {x});
  b.op("f", {x}, {z}, {{0, 0}});
  b.op("g", {z}, {y}, {}, 64);
  const SimulatedStep step = simulate_uses(b.graph);
  using Kind = BlockUse::Kind;
  EXPECT_EQ(step.uses, (std::vector<BlockUse>{{0, 0, Kind::kRequest, x},
                                              {0, 1, Kind::kRead, x},
                                              {0, 1, Kind::kOverwrite, z},
                                              {0, 2, Kind::kRead, z},
                                              {1, 2, Kind::kRequest, y},
                                              {2, 2, Kind::kRequest, BlockUse::kNoValue}}));
  EXPECT_EQ(step.begins, (std::vector<Tick>{0, 1, 1}));
  EXPECT_TRUE(step.trace.same_requests(simulate(b.graph)));
}

TEST(Simulate, WorkspaceLivesForItsOp) {
  GraphBuilder b;
  const ValueId x = b.value(), y = b.value();
  b.op("load", {}, {x});
  b.op("conv", {x}, {y}, {}, 64);
  const Trace trace = simulate(b.graph);
  EXPECT_EQ(trace.blocks, (Blocks{{0, 4, 100}, {1, 5, 100}, {2, 3, 64}}));
  EXPECT_EQ(trace.tags[2].category, Category::kWorkspace);
}

TEST(Simulate, WritesInPlaceOnlyOverTheLastReader) {
  GraphBuilder b;
  const ValueId x = b.value(), y = b.value(), z = b.value();
  b.op("load", {}, {x});
  b.op("f", {x}, {y}, {{0, 0}});     // x is read again: refused
  b.op("g", {x, y}, {z}, {{0, 0}});  // the last reader: z in x's bytes
  EXPECT_EQ(simulate(b.graph).size(), 2u);
  EXPECT_EQ(simulate(b.graph, {.in_place = false}).size(), 3u);
}

TEST(Simulate, RefusesInPlaceOverOtherSizesResidentsAndTwiceReadOperands) {
  GraphBuilder b;
  const ValueId x = b.value(), small = b.value(50), w = b.resident(100);
  const ValueId a = b.value(), c = b.value();
  b.op("load", {}, {x});
  b.op("shrink", {x}, {small}, {{0, 0}});
  b.op("copy", {w}, {a}, {{0, 0}});
  b.op("square", {a, a}, {c}, {{0, 0}, {1, 0}});
  EXPECT_EQ(simulate(b.graph).size(), 4u);
}

TEST(Simulate, KeptValuesLiveToTheEndAndAreNotOverwritten) {
  GraphBuilder b;
  const ValueId x = b.value(), y = b.value(), v = b.view(x), unread = b.value();
  b.graph.values[v].kept = b.graph.values[unread].kept = true;
  b.op("load", {}, {x, unread});
  b.op("f", {x}, {y}, {{0, 0}});
  EXPECT_EQ(simulate(b.graph).blocks, (Blocks{{0, 4, 100}, {1, 4, 100}, {2, 3, 100}}));
}

TEST(Simulate, ControlEdgesChangeNothing) {
  GraphBuilder b;
  const ValueId x = b.value(), y = b.value();
  b.op("load", {}, {x});
  b.op("f", {x}, {y});
  const Trace before = simulate(b.graph);
  b.graph.ops[1].after = {0};
  EXPECT_EQ(simulate(b.graph).blocks, before.blocks);
}

TEST(Simulate, OneInputServesOneOutput) {
  GraphBuilder b;
  const ValueId x = b.value(), y = b.value(), z = b.value();
  b.op("load", {}, {x});
  b.op("two", {x}, {y, z}, {{0, 0}, {0, 1}});
  EXPECT_EQ(simulate(b.graph).size(), 2u);
}

TEST(Simulate, ViewsShareTheirOwnersBytes) {
  GraphBuilder b;
  const ValueId x = b.value(), v = b.view(x), y = b.value();
  b.op("load", {}, {x});
  b.op("reshape", {x}, {v});
  b.op("f", {v}, {y});
  EXPECT_EQ(simulate(b.graph).blocks, (Blocks{{0, 2, 100}, {1, 3, 100}}));
}

TEST(Simulate, WithoutSharingEveryBlockLivesToTheEnd) {
  GraphBuilder b;
  const ValueId x = b.value(), y = b.value(), z = b.value();
  b.op("load", {}, {x});
  b.op("f", {x}, {y}, {}, 10);
  b.op("g", {y}, {z});
  for (const TraceBlock& block : simulate(b.graph, {.sharing = false}).blocks) {
    EXPECT_EQ(block.upper, 4);
  }
}

TEST(Simulate, ResidentValuesMakeNoRequests) {
  GraphBuilder b;
  const ValueId w = b.resident(100), x = b.value();
  b.op("load", {}, {x});
  b.op("update", {w, x}, {w});
  EXPECT_EQ(simulate(b.graph).blocks, (Blocks{{0, 1, 100}}));
}

TEST(Simulate, AnOutputThatNobodyReadsDiesAtOnce) {
  GraphBuilder b;
  const ValueId x = b.value(), y = b.value(), hidden = b.value();
  b.op("load", {}, {x});
  b.op("f", {x}, {y, hidden});
  b.op("g", {y}, {});
  EXPECT_EQ(simulate(b.graph).blocks, (Blocks{{0, 3, 100}, {1, 5, 100}, {2, 4, 100}}));
}

TEST(Simulate, RefusesReadsOfWhatIsNotAlive) {
  GraphBuilder never;
  const ValueId x = never.value();
  never.op("f", {x}, {});
  EXPECT_THROW(simulate(never.graph), TraceError);
}

TEST(Simulate, AnEmptyGraphHasAnEmptyTrace) { EXPECT_EQ(simulate({}).size(), 0u); }

}  // namespace
}  // namespace skyline
