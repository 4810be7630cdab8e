#include "memory/lanes/lane_checker.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "memory/lanes/lane_planner.h"
#include "memory/planners/registry.h"
#include "memory/random_inputs.h"
#include "tests/memory/lanes/interleavings.h"
#include "tests/memory/order/step_graphs.h"
#include "tests/memory/planners/effort.h"
#include "tests/memory/random_traces.h"

namespace skyline {
namespace {

constexpr PlanOptions kBlockBytes{.alignment = 1};

// A random step with lanes, events and a plan; about half of them are safe.
struct LaneCase {
  StepGraph graph;
  Lanes lanes;
  std::vector<LaneEvent> events;
  Plan plan;

  LaneCase(std::uint64_t seed, std::uint64_t most_ops)
      : graph(RandomStepGraph(seed).draw(most_ops)) {
    SplitMix random(seed, 1);
    const std::uint64_t count = 1 + random.below(4);
    for (std::size_t op = 0; op < graph.ops.size(); ++op) {
      lanes.push_back(static_cast<LaneId>(random.below(count)));
    }
    events = lane_events(step_edges(graph, simulate_uses(graph)), lanes);
    if (random.below(4) == 0 && !events.empty()) {
      events.erase(events.begin() + static_cast<std::ptrdiff_t>(random.below(events.size())));
    }
    if (random.below(4) == 0) add_events(random);
    plan = make_plan(random);
    if (random.below(4) == 0) move_block(random);
  }

 private:
  void add_events(SplitMix& random) {
    for (std::size_t k = random.below(graph.ops.size() + 1); k > 0; --k) {
      const auto after = static_cast<OpId>(random.below(graph.ops.size()));
      if (after > 0) events.push_back({static_cast<OpId>(random.below(after)), after});
    }
  }

  Plan make_plan(SplitMix& random) const {
    switch (random.below(4)) {
      case 0:
        return plan_any_order(graph, kBlockBytes);
      case 1:
        return plan_path_colours(graph, kBlockBytes);
      case 2:
        return skyline::plan(simulate(graph), "best-fit", kBlockBytes);
      default:
        return plan_lanes(graph, lanes, kBlockBytes);
    }
  }

  void move_block(SplitMix& random) {
    if (plan.offsets.empty()) return;
    plan.offsets[random.below(plan.offsets.size())] = random.below(plan.peak + 1);
    const Trace trace = simulate(graph);
    for (std::size_t block = 0; block < trace.size(); ++block) {
      plan.peak = std::max(plan.peak, plan.offsets[block] + trace.blocks[block].bytes);
    }
  }
};

// Two ops that read a value, and one that may take its bytes.
StepGraph shared_after_two_readers() {
  GraphBuilder b;
  const ValueId a = b.value(8), left = b.value(4, true), right = b.value(4, true),
                last = b.value(8, true);
  b.op("make", {}, {a});
  b.op("left", {a}, {left});
  b.op("right", {a}, {right});
  b.op("last", {left}, {last});
  return b.graph;
}

TEST(LaneChecker, NamesTheOpsThatNothingOrders) {
  const StepGraph graph = shared_after_two_readers();
  const Plan plan{.offsets = {0, 8, 12, 0}, .peak = 16, .alignment = 1};
  const Lanes lanes = {0, 0, 1, 0};
  EXPECT_TRUE(check_lanes(graph, plan, {0, 0, 0, 0}, {}).safe);
  const LaneVerdict verdict = check_lanes(graph, plan, lanes, std::vector<LaneEvent>{{0, 2}});
  EXPECT_FALSE(verdict.safe);
  EXPECT_EQ(verdict.first, 2u);
  EXPECT_EQ(verdict.second, 3u);
  EXPECT_EQ(verdict.reason,
            "nothing makes op 3 (last) wait for op 2 (right), but value 0 and value 3 share bytes "
            "[0, 8)");
  EXPECT_TRUE(check_lanes(graph, plan, lanes, std::vector<LaneEvent>{{0, 2}, {2, 3}}).safe);
}

TEST(LaneChecker, FindsAMissingEvent) {
  const StepGraph graph = shared_after_two_readers();
  const Plan plan = plan_any_order(graph, kBlockBytes);
  const LaneVerdict verdict = check_lanes(graph, plan, {0, 0, 1, 0}, {});
  EXPECT_EQ(verdict.reason,
            "nothing makes op 2 (right) wait for op 0 (make), but both use value 0");
}

TEST(LaneChecker, RefusesAPlanThatNoLanesCanRun) {
  const StepGraph graph = shared_after_two_readers();
  const Plan plan{.offsets = {0, 8, 12, 8}, .peak = 16, .alignment = 1};
  EXPECT_EQ(check_lanes(graph, plan, {0, 0, 0, 0}, {}).reason,
            "value 1, which is kept, and value 3 share bytes [8, 12)");
  const Plan early{.offsets = {0, 4, 12, 16}, .peak = 24, .alignment = 1};
  EXPECT_EQ(check_lanes(graph, early, {0, 0, 0, 0}, {}).reason,
            "op 1 (left) still uses value 0 when op 1 (left) requests value 1, and they share "
            "bytes [4, 8)");
}

TEST(LaneChecker, RefusesWhatDoesNotFitTheGraph) {
  const StepGraph graph = shared_after_two_readers();
  const Plan plan = plan_any_order(graph, kBlockBytes);
  const auto message = [&](const Plan& of, const Lanes& lanes, std::vector<LaneEvent> events) {
    try {
      check_lanes(graph, of, lanes, events);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message({}, {0, 0, 0, 0}, {}), "lanes: the plan has 0 blocks, but the step has 4");
  EXPECT_EQ(message(plan, {0}, {}), "lanes: got the lanes of 1 ops, expected 4");
  EXPECT_EQ(message(plan, {0, 0, 1, 0}, {{3, 2}}),
            "lanes: an event leads from op 3 to op 2, expected a later one of 4 ops");
}

TEST(LaneChecker, AnInPlaceWriteWaitsForEarlierReaders) {
  GraphBuilder b;
  const ValueId a = b.value(8), read = b.value(4, true), over = b.value(8, true);
  b.op("make", {}, {a});
  b.op("read", {a}, {read});
  b.op("over", {a}, {over}, {{.input = 0, .output = 0}});
  const Plan plan{.offsets = {0, 8}, .peak = 12, .alignment = 1};
  const LaneVerdict verdict = check_lanes(b.graph, plan, {0, 1, 0}, std::vector<LaneEvent>{{0, 1}});
  EXPECT_EQ(verdict.reason, "nothing makes op 2 (over) wait for op 1 (read), but both use value 0");
}

// Accepted plans are safe in every interleaving, and refused ones have a bad one.
TEST(LaneChecker, AgreesWithAllInterleavingsOfSmallSteps) {
  std::uint64_t safe = 0, unsafe = 0;
  for (const std::uint64_t seed : seeds(cases(8'000, 900'000))) {
    const LaneCase lane_case(kGraphSeed + seed, 6);
    const LaneVerdict verdict =
        check_lanes(lane_case.graph, lane_case.plan, lane_case.lanes, lane_case.events);
    Interleavings runs(lane_case.graph, lane_case.plan, lane_case.lanes, lane_case.events);
    const bool bad = verdict.safe ? runs.some_interleaving_is_bad()
                                  : runs.is_bad_if_hurried(verdict.first, verdict.second);
    ASSERT_EQ(bad, !verdict.safe) << "seed " << seed << ": " << verdict.reason;
    ++(verdict.safe ? safe : unsafe);
  }
  EXPECT_GT(std::min(safe, unsafe), (safe + unsafe) / 5);
}

TEST(LaneChecker, AgreesWithRandomInterleavingsOfLargerSteps) {
  std::uint64_t safe = 0, unsafe = 0;
  for (const std::uint64_t seed : seeds(cases(3'000, 100'000))) {
    const LaneCase lane_case(~kGraphSeed - seed, 24);
    const LaneVerdict verdict =
        check_lanes(lane_case.graph, lane_case.plan, lane_case.lanes, lane_case.events);
    Interleavings runs(lane_case.graph, lane_case.plan, lane_case.lanes, lane_case.events);
    if (!verdict.safe) {
      ASSERT_TRUE(runs.is_bad_if_hurried(verdict.first, verdict.second))
          << "seed " << seed << ": " << verdict.reason;
    }
    SplitMix random(seed, 2);
    for (int k = 0; k < 10 && verdict.safe; ++k) {
      ASSERT_FALSE(runs.random_interleaving_is_bad(random)) << "seed " << seed;
    }
    ++(verdict.safe ? safe : unsafe);
  }
  EXPECT_GT(std::min(safe, unsafe), (safe + unsafe) / 5);
}

}  // namespace
}  // namespace skyline
