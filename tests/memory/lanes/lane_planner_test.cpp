#include "memory/lanes/lane_planner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "memory/lanes/antichain.h"
#include "memory/lanes/conflicts.h"
#include "memory/lanes/lane_checker.h"
#include "memory/planners/registry.h"
#include "memory/random_inputs.h"
#include "memory/validator.h"
#include "tests/memory/order/step_graphs.h"
#include "tests/memory/planners/effort.h"
#include "tests/memory/random_traces.h"

namespace skyline {
namespace {

Lanes random_lanes(std::size_t ops, std::uint64_t seed) {
  SplitMix random(seed, 1);
  const std::uint64_t count = 1 + random.below(4);
  Lanes lanes(ops);
  for (LaneId& lane : lanes) lane = static_cast<LaneId>(random.below(count));
  return lanes;
}

Lanes a_lane_each(const StepGraph& graph) {
  Lanes lanes(graph.ops.size());
  std::iota(lanes.begin(), lanes.end(), LaneId{0});
  return lanes;
}

void expect_sound(const StepGraph& graph, const Plan& plan, const Lanes& lanes) {
  const Validity validity = validate(simulate(graph), plan);
  EXPECT_TRUE(validity.valid) << validity.reason;
  EXPECT_GE(plan.proved_bound, plan.lower_bound);
  const std::vector<LaneEvent> events = lane_events(step_edges(graph, simulate_uses(graph)), lanes);
  const LaneVerdict verdict = check_lanes(graph, plan, lanes, events);
  EXPECT_TRUE(verdict.safe) << plan.planner << ": " << verdict.reason;
}

TEST(LanePlanner, PlansAreSafeWithTheEdgesAlone) {
  std::uint64_t above_one_lane = 0;
  for (const std::uint64_t seed : seeds(3000)) {
    const StepGraph graph = RandomStepGraph(kGraphSeed + seed).draw(40);
    const Lanes lanes = random_lanes(graph.ops.size(), seed);
    const Plan given = plan_lanes(graph, lanes), any = plan_any_order(graph);
    expect_sound(graph, given, lanes);
    expect_sound(graph, any, a_lane_each(graph));
    expect_sound(graph, plan_path_colours(graph), a_lane_each(graph));
    const Plan soft = plan_soft_colours(graph, any);
    expect_sound(graph, soft, a_lane_each(graph));
    EXPECT_LE(soft.peak, any.peak);
    const Plan soft_given = plan_soft_colours(graph, given, lanes);
    expect_sound(graph, soft_given, lanes);
    EXPECT_LE(soft_given.peak, given.peak);
    if (given.peak > given.lower_bound) ++above_one_lane;
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(above_one_lane, 0u);
}

// Blocks a, b share no byte if b is among the next requests after a was freed.
TEST(LanePlanner, KeepsBlocksApart) {
  std::size_t shared = 0;
  for (const std::uint64_t seed : seeds(500)) {
    const Trace trace = simulate(RandomStepGraph(kGraphSeed + seed).draw(60));
    const Plan plan = plan_apart(trace);
    ASSERT_EQ(validate(trace, plan).reason, "");
    const std::vector<std::size_t> before_free = requests_before_free(trace);
    for (std::size_t late = 0; late < trace.size(); ++late) {
      for (std::size_t early = 0; early < late; ++early) {
        const bool meet =
            plan.offsets[early] < plan.offsets[late] + align_request(trace.blocks[late].bytes) &&
            plan.offsets[late] < plan.offsets[early] + align_request(trace.blocks[early].bytes);
        if (!meet) continue;
        ++shared;
        ASSERT_GE(late, before_free[early] + kRequestsApart) << "seed " << seed;
      }
    }
  }
  EXPECT_GT(shared, 100u);
}

TEST(LanePlanner, PlansBlocksOfOtherSizes) {
  for (const std::uint64_t seed : seeds(500)) {
    const StepGraph graph = RandomStepGraph(kGraphSeed + seed).draw(40);
    StepGraph other = graph;
    const auto other_size = [](std::uint64_t& bytes) { bytes = bytes * 1664525 % 65536 + 1; };
    for (StepValue& value : other.values) other_size(value.bytes);
    for (StepOp& op : other.ops) {
      if (op.workspace_bytes > 0) other_size(op.workspace_bytes);
    }
    const Lanes lanes = random_lanes(graph.ops.size(), seed);
    expect_sound(other, plan_lanes(graph, lanes, simulate(other)), lanes);
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

// With its waits as events, the plan for one lane is right on all; without any of them it is not.
TEST(SharingEdges, AreWhatAPlanForOneLaneNeedsOnOthers) {
  std::size_t waits_seen = 0;
  for (const std::uint64_t seed : seeds(500)) {
    const StepGraph graph = RandomStepGraph(kGraphSeed + seed).draw(30);
    const SimulatedStep step = simulate_uses(graph);
    const StepEdges edges = step_edges(graph, step);
    const Lanes lanes = random_lanes(edges.size(), seed);
    const Plan one_lane = plan(step.trace);
    const std::vector<LaneEvent> waits = sharing_edges(step, one_lane, edges, lanes);
    const std::vector<LaneEvent> events = lane_events(with_waits(edges, waits), lanes);
    EXPECT_EQ(check_lanes(graph, one_lane, lanes, events).reason, "") << "seed " << seed;
    for (std::size_t k = 0; k < waits.size(); ++k, ++waits_seen) {
      std::vector<LaneEvent> fewer = waits;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(k));
      const std::vector<LaneEvent> left = lane_events(with_waits(edges, fewer), lanes);
      EXPECT_FALSE(check_lanes(graph, one_lane, lanes, left).safe) << "seed " << seed;
    }
  }
  EXPECT_GT(waits_seen, 50u);  // sanitizers see a tenth of the seeds
}

TEST(LanePlanner, FewerConflictsNeedNoMoreAtLeast) {
  for (const std::uint64_t seed : seeds(300)) {
    const StepGraph graph = RandomStepGraph(kGraphSeed + seed).draw(40);
    const Lanes lanes = random_lanes(graph.ops.size(), seed);
    const std::uint64_t given = plan_lanes(graph, lanes).proved_bound;
    const std::uint64_t any = plan_any_order(graph).proved_bound;
    EXPECT_LE(given, any) << "seed " << seed;
    EXPECT_LE(any, plan_path_colours(graph).proved_bound) << "seed " << seed;
  }
}

TEST(LanePlanner, OneLaneIsTheDefaultPlanner) {
  for (const std::uint64_t seed : seeds(300)) {
    const StepGraph graph = RandomStepGraph(kGraphSeed + seed).draw(40);
    const Plan one_lane = plan_lanes(graph, Lanes(graph.ops.size()));
    const Plan ordinary = plan(simulate(graph));
    EXPECT_EQ(one_lane.offsets, ordinary.offsets) << "seed " << seed;
    EXPECT_EQ(one_lane.planner, ordinary.planner);
  }
}

TEST(LanePlanner, RefusesOtherLanes) {
  EXPECT_THROW(plan_lanes(olla_figure_3(), {0, 1}), std::invalid_argument);
  const Lanes lanes(olla_figure_3().ops.size());
  EXPECT_THROW(plan_lanes(olla_figure_3(), lanes, Trace()), std::invalid_argument);
}

TEST(LanePlanner, AnUpdateWaitsForTheReadersOfItsParameter) {
  GraphBuilder b;
  const ValueId weights = b.resident(8), gradient = b.value(8), of_input = b.value(8, true);
  b.op("gradient", {}, {gradient});
  b.op("of_input", {weights}, {of_input});
  b.op("update", {gradient, weights}, {weights});
  const StepEdges edges = step_edges(b.graph, simulate_uses(b.graph));
  EXPECT_EQ(edges[2], (std::vector<OpId>{0, 1}));
}

// Bit by bit over all sets.
std::uint64_t heaviest_by_all_sets(const Conflicts& conflicts,
                                   const std::vector<std::uint64_t>& weights) {
  std::uint64_t heaviest = 0;
  for (std::uint32_t set = 0; set < 1u << conflicts.size(); ++set) {
    std::uint64_t weight = 0;
    bool conflict = true;
    for (std::size_t a = 0; a < conflicts.size(); ++a) {
      if ((set >> a & 1) == 0) continue;
      weight += weights[a];
      for (std::size_t b = 0; b < a; ++b) {
        if ((set >> b & 1) != 0) conflict &= conflicts.conflict(a, b);
      }
    }
    if (conflict) heaviest = std::max(heaviest, weight);
  }
  return heaviest;
}

TEST(Antichain, IsTheHeaviestOfAllSets) {
  for (const std::uint64_t seed : seeds(1000)) {
    const StepGraph graph = RandomStepGraph(kGraphSeed + seed).draw(12);
    const HappensBefore order(step_edges(graph, simulate_uses(graph)));
    const Conflicts conflicts = op_conflicts(order);
    SplitMix random(seed, 3);
    std::vector<std::uint64_t> weights(conflicts.size());
    for (std::uint64_t& weight : weights) weight = random.below(10);
    const Antichain found = heaviest_antichain(conflicts, weights);
    ASSERT_EQ(found.weight, heaviest_by_all_sets(conflicts, weights)) << "seed " << seed;
    for (const std::size_t a : found.members) {
      for (const std::size_t b : found.members) {
        ASSERT_TRUE(a == b || conflicts.conflict(a, b)) << "seed " << seed;
      }
    }
  }
}

TEST(PathColours, ColourPathsLongestFirst) {
  for (const std::uint64_t seed : seeds(300)) {
    const StepGraph graph = RandomStepGraph(kGraphSeed + seed).draw(40);
    const StepEdges edges = step_edges(graph, simulate_uses(graph));
    const PathColours colours = path_colours(edges);
    EXPECT_LT(std::ranges::max(colours.of_op), colours.paths);
    std::vector<std::vector<OpId>> paths(edges.size());
    for (OpId op = 0; op < edges.size(); ++op) paths[colours.of_op[op]].push_back(op);
    for (std::size_t colour = 0; colour < paths.size(); ++colour) {
      if (colour > 0) {
        EXPECT_LE(paths[colour].size(), paths[colour - 1].size()) << "seed " << seed;
      }
      for (std::size_t k = 1; k < paths[colour].size(); ++k) {
        const std::vector<OpId>& before = edges[paths[colour][k]];
        EXPECT_TRUE(std::ranges::count(before, paths[colour][k - 1])) << "seed " << seed;
      }
    }
  }
}

TEST(PathColours, GiveTheOpsOfNoPathOneColour) {
  for (const std::uint64_t seed : seeds(300)) {
    const StepGraph graph = RandomStepGraph(kGraphSeed + seed).draw(40);
    const StepEdges edges = step_edges(graph, simulate_uses(graph));
    const PathColours all = path_colours(edges);
    for (std::uint32_t most = 1; most <= all.paths; ++most) {
      const PathColours few = path_colours(edges, most);
      ASSERT_EQ(few.paths, most) << "seed " << seed;
      for (OpId op = 0; op < edges.size(); ++op) {
        ASSERT_EQ(few.of_op[op], std::min(all.of_op[op], most)) << "seed " << seed;
      }
    }
    EXPECT_EQ(plan_path_colours(graph, {}, all.paths).offsets, plan_path_colours(graph).offsets);
  }
}

// Ops of no path share bytes as on one lane: the plan is right as soon as its waits are events.
TEST(PathColours, FewerPathsMakeOpsWait) {
  std::size_t waiting = 0;
  for (const std::uint64_t seed : seeds(300)) {
    const StepGraph graph = RandomStepGraph(kGraphSeed + seed).draw(40);
    const SimulatedStep step = simulate_uses(graph);
    const StepEdges edges = step_edges(graph, step);
    const Lanes each = a_lane_each(graph);
    for (const std::size_t paths : {1, 2}) {
      const Plan few = plan_path_colours(graph, {}, paths);
      const std::vector<LaneEvent> waits = sharing_edges(step, few, edges);
      const std::vector<LaneEvent> events = lane_events(with_waits(edges, waits), each);
      EXPECT_EQ(check_lanes(graph, few, each, events).reason, "") << "seed " << seed;
      waiting += waits.size();
    }
  }
  EXPECT_GT(waiting, 0u);
}

TEST(PathColours, SoftOnesShareMoreWithinAColourThanAnyOrder) {
  double any_sum = 0, soft_sum = 0;
  for (const std::uint64_t seed : seeds(300)) {
    const StepGraph graph = RandomStepGraph(kGraphSeed + seed).draw(40);
    const SimulatedStep step = simulate_uses(graph);
    const PathColours colours = path_colours(step_edges(graph, step));
    const Plan any = plan_any_order(graph), soft = plan_soft_colours(graph, any);
    any_sum += shared_within_colours(step, any, colours).value_or(0);
    soft_sum += shared_within_colours(step, soft, colours).value_or(0);
    const Plan hard = plan_path_colours(graph);
    EXPECT_EQ(shared_within_colours(step, hard, colours).value_or(1), 1) << "seed " << seed;
  }
  EXPECT_GT(soft_sum, any_sum);
}

}  // namespace
}  // namespace skyline
