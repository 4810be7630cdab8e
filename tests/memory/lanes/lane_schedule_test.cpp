#include "memory/lanes/lane_schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "memory/lanes/conflicts.h"
#include "memory/lanes/lane_checker.h"
#include "memory/lanes/lane_planner.h"
#include "memory/random_inputs.h"
#include "tests/memory/order/step_graphs.h"
#include "tests/memory/planners/effort.h"
#include "tests/memory/random_traces.h"

namespace skyline {
namespace {

std::vector<double> random_seconds(std::size_t ops, std::uint64_t seed) {
  SplitMix random(seed, 1);
  std::vector<double> seconds(ops);
  for (double& second : seconds) second = static_cast<double>(random.below(100));
  return seconds;
}

// Two branches of two ops between a first op and a last one.
StepGraph two_branches() {
  GraphBuilder b;
  const ValueId in = b.value(), l1 = b.value(), l2 = b.value(), r1 = b.value(), r2 = b.value();
  b.op("in", {}, {in});
  b.op("l1", {in}, {l1});
  b.op("l2", {l1}, {l2});
  b.op("r1", {in}, {r1});
  b.op("r2", {r1}, {r2});
  b.op("out", {l2, r2}, {});
  return b.graph;
}

TEST(LaneSchedule, GivesEachBranchALane) {
  const std::vector<double> seconds = {1, 2, 3, 2, 3, 1};
  const LaneSchedule schedule = assign_lanes(two_branches(), seconds, 2);
  EXPECT_EQ(schedule.seconds, 7);
  EXPECT_EQ(schedule.critical_path, 7);
  EXPECT_EQ(schedule.sum, 12);
  EXPECT_EQ(schedule.lanes[1], schedule.lanes[2]);
  EXPECT_EQ(schedule.lanes[3], schedule.lanes[4]);
  EXPECT_NE(schedule.lanes[1], schedule.lanes[3]);
}

TEST(LaneSchedule, TakesALaneOnlyWhereThatPaysForItsWakingUp) {
  const std::vector<double> seconds = {1, 2, 3, 2, 3, 1};
  EXPECT_EQ(assign_lanes(two_branches(), seconds, 2, {.wake_seconds = 2}).seconds, 9);
  const LaneSchedule one = assign_lanes(two_branches(), seconds, 2, {.wake_seconds = 6});
  EXPECT_EQ(one.seconds, one.sum);
  EXPECT_EQ(one.lanes, Lanes(6));
}

TEST(LaneSchedule, LiesBetweenItsBounds) {
  for (const std::uint64_t seed : seeds(1000)) {
    const StepGraph graph = RandomStepGraph(kGraphSeed + seed).draw(40);
    const std::vector<double> seconds = random_seconds(graph.ops.size(), seed);
    const LaneSchedule one = assign_lanes(graph, seconds, 1);
    EXPECT_EQ(one.seconds, one.sum);
    EXPECT_EQ(one.lanes, Lanes(graph.ops.size()));
    for (const std::size_t lanes : {2, 3, 4}) {
      const LaneSchedule schedule = assign_lanes(graph, seconds, lanes);
      EXPECT_LE(schedule.seconds, schedule.sum) << "seed " << seed;
      EXPECT_GE(schedule.seconds, schedule.critical_path) << "seed " << seed;
      EXPECT_GE(schedule.seconds * static_cast<double>(lanes), schedule.sum) << "seed " << seed;
      EXPECT_TRUE(std::ranges::all_of(schedule.lanes, [&](LaneId lane) { return lane < lanes; }));
    }
  }
}

constexpr double kNotTimed = std::numeric_limits<double>::infinity();

// On all lanes "in" takes 1 instead of 3. The branches are faster beside each other.
TEST(LaneSchedule, AllLanesRunAnOpThatNothingRunsBeside) {
  const std::vector<double> seconds = {3, 2, 2, 2, 2, 3}, wide = {1, 1.5, 1.5, 1.5, 1.5, kNotTimed};
  const LaneSchedule schedule = assign_lanes(two_branches(), seconds, 2, {.wide_seconds = wide});
  EXPECT_EQ(schedule.wide, (std::vector<bool>{true, false, false, false, false, false}));
  EXPECT_EQ(schedule.lanes[0], 0u);
  EXPECT_EQ(schedule.seconds, 1 + 2 + 2 + 3);
  EXPECT_EQ(schedule.critical_path, 1 + 1.5 + 1.5 + 3);
  EXPECT_EQ(schedule.sum, 14);
  const LaneSchedule one = assign_lanes(two_branches(), seconds, 1, {.wide_seconds = wide});
  EXPECT_EQ(one.wide, std::vector<bool>(6));
}

// Seconds of wide ops; half of the ops cannot be wide.
std::vector<double> random_wide(const std::vector<double>& seconds, std::uint64_t seed) {
  SplitMix random(seed, 2);
  std::vector<double> wide(seconds);
  for (double& second : wide) {
    const double tenths = static_cast<double>(random.below(12));
    second = random.below(2) == 0 ? kNotTimed : std::floor(second * tenths / 10);
  }
  return wide;
}

TEST(LaneSchedule, WideOpsOnlyMakeStepsShorter) {
  int shorter = 0;
  for (const std::uint64_t seed : seeds(1000)) {
    const StepGraph graph = RandomStepGraph(kGraphSeed + seed).draw(40);
    const std::vector<double> seconds = random_seconds(graph.ops.size(), seed);
    const std::vector<double> wide = random_wide(seconds, seed);
    for (const std::size_t lanes : {2, 3}) {
      const LaneSchedule without = assign_lanes(graph, seconds, lanes);
      const LaneSchedule with = assign_lanes(graph, seconds, lanes, {.wide_seconds = wide});
      EXPECT_LE(with.seconds, with.sum) << "seed " << seed;
      EXPECT_GE(with.seconds, with.critical_path) << "seed " << seed;
      if (with.seconds < without.seconds) ++shorter;
      for (std::size_t op = 0; op < wide.size(); ++op) {
        EXPECT_TRUE(!with.wide[op] || std::isfinite(wide[op])) << "seed " << seed << ", op " << op;
      }
    }
  }
  EXPECT_GT(shorter, 0);
}

// All lanes compute a wide op, so it is before or after every other op. What the graph then says is
// enough for a plan that the checker, which knows nothing of wide ops, accepts.
TEST(LaneSchedule, AWideOpWaitsForAllLanesAndTheyForIt) {
  int wide_ops = 0;
  for (const std::uint64_t seed : seeds(300)) {
    StepGraph graph = RandomStepGraph(kGraphSeed + seed).draw(40);
    const std::vector<double> seconds = random_seconds(graph.ops.size(), seed);
    const std::vector<double> wide = random_wide(seconds, seed);
    const LaneSchedule schedule = assign_lanes(graph, seconds, 3, {.wide_seconds = wide});
    add_waits_of_wide_ops(graph, schedule);
    const StepEdges edges = step_edges(graph, simulate_uses(graph));
    const HappensBefore order(edges, schedule.lanes);
    for (OpId op = 0; op < graph.ops.size(); ++op) {
      if (!schedule.wide[op]) continue;
      ++wide_ops;
      for (OpId other = 0; other < graph.ops.size(); ++other) {
        EXPECT_TRUE(other == op || order.before(std::min(op, other), std::max(op, other)))
            << "seed " << seed << ", wide op " << op << " beside " << other;
      }
    }
    const LaneVerdict verdict = check_lanes(graph, plan_lanes(graph, schedule.lanes),
                                            schedule.lanes, lane_events(edges, schedule.lanes));
    EXPECT_TRUE(verdict.safe) << "seed " << seed << ": " << verdict.reason;
  }
  EXPECT_GT(wide_ops, 0);
}

TEST(LaneSchedule, RefusesNoLanesAndOtherSeconds) {
  const std::vector<double> seconds(6);
  EXPECT_THROW(assign_lanes(two_branches(), seconds, 0), std::invalid_argument);
  EXPECT_THROW(assign_lanes(two_branches(), std::span(seconds).first(5), 2), std::invalid_argument);
  EXPECT_THROW(assign_lanes(two_branches(), std::span(seconds).first(0), 2), std::invalid_argument);
  EXPECT_THROW(assign_lanes(two_branches(), seconds, 2, {.wide_seconds = std::vector<double>(5)}),
               std::invalid_argument);
}

bool enforces(const std::vector<LaneEvent>& events, const StepEdges& edges, const Lanes& lanes) {
  StepEdges waits(edges.size());
  for (const LaneEvent& event : events) waits[event.after].push_back(event.before);
  const HappensBefore order(waits, lanes);
  for (OpId op = 0; op < edges.size(); ++op) {
    for (const OpId before : edges[op]) {
      if (!order.before(before, op)) return false;
    }
  }
  return true;
}

TEST(LaneEvents, EnforceAllEdgesAndNoneIsSpare) {
  std::size_t checked = 0;
  for (const std::uint64_t seed : seeds(500)) {
    const StepGraph graph = RandomStepGraph(kGraphSeed + seed).draw(30);
    const StepEdges edges = step_edges(graph, simulate_uses(graph));
    const Lanes lanes = assign_lanes(graph, random_seconds(edges.size(), seed), 3).lanes;
    const std::vector<LaneEvent> events = lane_events(edges, lanes);
    EXPECT_TRUE(enforces(events, edges, lanes)) << "seed " << seed;
    for (std::size_t k = 0; k < events.size(); ++k, ++checked) {
      std::vector<LaneEvent> fewer = events;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(k));
      EXPECT_FALSE(enforces(fewer, edges, lanes)) << "seed " << seed;
    }
  }
  EXPECT_GT(checked, 0u);
}

TEST(HappensBefore, IsThereWhereAPathLeads) {
  for (const std::uint64_t seed : seeds(200)) {
    const StepGraph graph = RandomStepGraph(kGraphSeed + seed).draw(80);
    const StepEdges edges = step_edges(graph, simulate_uses(graph));
    const HappensBefore order(edges);
    std::vector<std::vector<bool>> path(edges.size(), std::vector<bool>(edges.size()));
    for (OpId op = 0; op < edges.size(); ++op) {
      for (const OpId before : edges[op]) {
        path[op][before] = true;
        for (OpId k = 0; k < before; ++k) path[op][k] = path[op][k] || path[before][k];
      }
      for (OpId k = 0; k < edges.size(); ++k) ASSERT_EQ(order.before(k, op), path[op][k]);
    }
  }
}

}  // namespace
}  // namespace skyline
