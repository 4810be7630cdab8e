#include "memory/step_graph.h"

#include <gtest/gtest.h>

#include "memory/errors.h"

namespace skyline {
namespace {

// A graph under construction: values of 100 bytes unless said otherwise.
struct Builder {
  ValueId value(std::uint64_t bytes = 100, bool resident = false) {
    const auto id = static_cast<ValueId>(graph.values.size());
    graph.values.push_back({.bytes = bytes, .resident = resident, .storage = id});
    return id;
  }
  ValueId view(ValueId of) {
    const ValueId id = value();
    graph.values[id].storage = of;
    return id;
  }
  void op(std::string name, std::vector<ValueId> inputs, std::vector<ValueId> outputs,
          std::vector<InPlacePair> in_place = {}, std::uint64_t workspace_bytes = 0) {
    graph.ops.push_back({.name = std::move(name),
                         .inputs = std::move(inputs),
                         .outputs = std::move(outputs),
                         .workspace_bytes = workspace_bytes,
                         .in_place = std::move(in_place)});
  }
  StepGraph graph;
};

using Blocks = std::vector<TraceBlock>;

TEST(Simulate, CountsReadersAndFreesWithTheLastOne) {
  Builder b;
  const ValueId x = b.value(), y = b.value(), z = b.value();
  b.op("load", {}, {x});
  b.op("f", {x}, {y});
  b.op("g", {x, y}, {z});
  EXPECT_EQ(simulate(b.graph).blocks, (Blocks{{0, 3, 100}, {1, 4, 100}, {2, 5, 100}}));
}

TEST(Simulate, WorkspaceLivesForItsOp) {
  Builder b;
  const ValueId x = b.value(), y = b.value();
  b.op("load", {}, {x});
  b.op("conv", {x}, {y}, {}, 64);
  const Trace trace = simulate(b.graph);
  EXPECT_EQ(trace.blocks, (Blocks{{0, 4, 100}, {1, 5, 100}, {2, 3, 64}}));
  EXPECT_EQ(trace.tags[2].category, Category::kWorkspace);
}

TEST(Simulate, WritesInPlaceOnlyOverTheLastReader) {
  Builder b;
  const ValueId x = b.value(), y = b.value(), z = b.value();
  b.op("load", {}, {x});
  b.op("f", {x}, {y}, {{0, 0}});     // x is read again: refused
  b.op("g", {x, y}, {z}, {{0, 0}});  // the last reader: z in x's bytes
  EXPECT_EQ(simulate(b.graph).size(), 2u);
  EXPECT_EQ(simulate(b.graph, {.in_place = false}).size(), 3u);
}

TEST(Simulate, RefusesInPlaceOverOtherSizesResidentsAndTwiceReadOperands) {
  Builder b;
  const ValueId x = b.value(), small = b.value(50), w = b.value(100, true);
  const ValueId a = b.value(), c = b.value();
  b.op("load", {}, {x});
  b.op("shrink", {x}, {small}, {{0, 0}});
  b.op("copy", {w}, {a}, {{0, 0}});
  b.op("square", {a, a}, {c}, {{0, 0}, {1, 0}});
  EXPECT_EQ(simulate(b.graph).size(), 4u);
}

TEST(Simulate, KeptValuesLiveToTheEndAndAreNotOverwritten) {
  Builder b;
  const ValueId x = b.value(), y = b.value(), v = b.view(x), unread = b.value();
  b.graph.values[v].kept = b.graph.values[unread].kept = true;
  b.op("load", {}, {x, unread});
  b.op("f", {x}, {y}, {{0, 0}});
  EXPECT_EQ(simulate(b.graph).blocks, (Blocks{{0, 4, 100}, {1, 4, 100}, {2, 3, 100}}));
}

TEST(Simulate, ControlEdgesChangeNothing) {
  Builder b;
  const ValueId x = b.value(), y = b.value();
  b.op("load", {}, {x});
  b.op("f", {x}, {y});
  const Trace before = simulate(b.graph);
  b.graph.ops[1].after = {0};
  EXPECT_EQ(simulate(b.graph).blocks, before.blocks);
}

TEST(Simulate, OneInputServesOneOutput) {
  Builder b;
  const ValueId x = b.value(), y = b.value(), z = b.value();
  b.op("load", {}, {x});
  b.op("two", {x}, {y, z}, {{0, 0}, {0, 1}});
  EXPECT_EQ(simulate(b.graph).size(), 2u);
}

TEST(Simulate, ViewsShareTheirOwnersBytes) {
  Builder b;
  const ValueId x = b.value(), v = b.view(x), y = b.value();
  b.op("load", {}, {x});
  b.op("reshape", {x}, {v});
  b.op("f", {v}, {y});
  EXPECT_EQ(simulate(b.graph).blocks, (Blocks{{0, 2, 100}, {1, 3, 100}}));
}

TEST(Simulate, WithoutSharingEveryBlockLivesToTheEnd) {
  Builder b;
  const ValueId x = b.value(), y = b.value(), z = b.value();
  b.op("load", {}, {x});
  b.op("f", {x}, {y}, {}, 10);
  b.op("g", {y}, {z});
  for (const TraceBlock& block : simulate(b.graph, {.sharing = false}).blocks) {
    EXPECT_EQ(block.upper, 4);
  }
}

TEST(Simulate, ResidentValuesMakeNoRequests) {
  Builder b;
  const ValueId w = b.value(100, true), x = b.value();
  b.op("load", {}, {x});
  b.op("update", {w, x}, {w});
  EXPECT_EQ(simulate(b.graph).blocks, (Blocks{{0, 1, 100}}));
}

TEST(Simulate, AnOutputThatNobodyReadsDiesAtOnce) {
  Builder b;
  const ValueId x = b.value(), y = b.value(), hidden = b.value();
  b.op("load", {}, {x});
  b.op("f", {x}, {y, hidden});
  b.op("g", {y}, {});
  EXPECT_EQ(simulate(b.graph).blocks, (Blocks{{0, 3, 100}, {1, 5, 100}, {2, 4, 100}}));
}

TEST(Simulate, RefusesReadsOfWhatIsNotAlive) {
  Builder never;
  const ValueId x = never.value();
  never.op("f", {x}, {});
  EXPECT_THROW(simulate(never.graph), TraceError);
}

TEST(Simulate, AnEmptyGraphHasAnEmptyTrace) { EXPECT_EQ(simulate({}).size(), 0u); }

}  // namespace
}  // namespace skyline
