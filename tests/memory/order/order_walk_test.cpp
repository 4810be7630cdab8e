#include "memory/order/order_problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memory/order/order.h"
#include "memory/random_inputs.h"
#include "tests/memory/order/step_graphs.h"

namespace skyline {
namespace {

// The most bytes alive at one tick of the trace that the order records.
std::uint64_t simulated_peak(const StepGraph& graph, const std::vector<OpId>& order) {
  StepGraph reordered{.values = graph.values, .ops = {}};
  for (const OpId op : order) reordered.ops.push_back(graph.ops[op]);
  std::vector<std::pair<Tick, std::int64_t>> changes;
  for (const TraceBlock& block : simulate(reordered).blocks) {
    changes.push_back({block.lower, static_cast<std::int64_t>(block.bytes)});
    changes.push_back({block.upper, -static_cast<std::int64_t>(block.bytes)});
  }
  std::ranges::sort(changes);
  std::int64_t live = 0, peak = 0;
  for (const auto& [tick, bytes] : changes) peak = std::max(peak, live += bytes);
  return static_cast<std::uint64_t>(peak);
}

// Any ready op next, drawn at random.
std::vector<OpId> random_order(const OrderProblem& problem, SplitMix& random) {
  std::vector<std::size_t> missing;
  std::vector<OpId> ready, order;
  for (OpId op = 0; op < problem.ops.size(); ++op) {
    missing.push_back(problem.ops[op].predecessors.size());
    if (missing.back() == 0) ready.push_back(op);
  }
  while (!ready.empty()) {
    std::swap(ready[random.below(ready.size())], ready.back());
    order.push_back(ready.back());
    ready.pop_back();
    for (const OpId after : problem.ops[order.back()].successors) {
      if (--missing[after] == 0) ready.push_back(after);
    }
  }
  return order;
}

TEST(OrderWalk, GivesFigureThreeOfOlla) {
  const OrderProblem problem = order_problem(olla_figure_3(), {});
  EXPECT_EQ(order_peak(problem, std::vector<OpId>{0, 1, 2, 3, 4}), 45'000'000u);
  EXPECT_EQ(order_peak(problem, std::vector<OpId>{0, 1, 3, 2, 4}), 60'000'000u);
  EXPECT_THAT(order_bytes(problem, std::vector<OpId>{0, 1, 2, 3, 4}),
              testing::ElementsAre(10'000'000, 40'000'000, 35'000'000, 45'000'000, 45'000'000));
}

TEST(OrderWalk, NeedsWhatSimulationRecords) {
  constexpr std::uint64_t kSeed = 11;
  SplitMix random(kSeed);
  for (std::uint64_t k = 0; k < 500; ++k) {
    const StepGraph graph = RandomStepGraph(kSeed + k).draw(20);
    const OrderProblem problem = order_problem(graph, {});
    const std::vector<OpId> order = random_order(problem, random);
    ASSERT_EQ(order_peak(problem, order), simulated_peak(graph, order)) << "seed " << kSeed + k;
  }
}

TEST(OrderWalk, UndoesRuns) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const OrderProblem problem = order_problem(RandomStepGraph(seed).draw(12), {});
    OrderWalk walk(problem);
    const std::vector<OpId> order = program_sequence(problem);
    std::vector<std::uint64_t> live;
    for (const OpId op : order) {
      live.push_back(walk.live_bytes());
      walk.run(op);
    }
    for (std::size_t i = order.size(); i-- > 0;) {
      walk.undo(order[i]);
      ASSERT_EQ(walk.live_bytes(), live[i]) << "seed " << seed;
    }
    EXPECT_EQ(walk.live_bytes(), 0u);
  }
}

}  // namespace
}  // namespace skyline
