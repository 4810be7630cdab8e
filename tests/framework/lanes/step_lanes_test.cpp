#include "framework/lanes/step_lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "framework/lanes/cpu_lanes.h"
#include "framework/ops/activation/relu.h"
#include "framework/ops/activation/sigmoid.h"
#include "memory/allocators/best_fit_pool.h"
#include "memory/device/cpu_device.h"
#include "memory/lanes/lane_planner.h"
#include "tests/framework/error_of.h"
#include "tests/framework/recorded_context.h"
#include "tests/framework/test_ops.h"

namespace skyline {
namespace {

// A value that two ops read, whose results a third adds: the two may run at the same time.
StepGraph diamond() {
  StepGraph graph;
  for (ValueId id = 0; id < 4; ++id) graph.values.push_back({.bytes = 1024, .storage = id});
  graph.ops = {{.name = "make", .outputs = {0}},
               {.name = "left", .inputs = {0}, .outputs = {1}},
               {.name = "right", .inputs = {0}, .outputs = {2}},
               {.name = "join", .inputs = {1, 2}, .outputs = {3}}};
  return graph;
}

// Two lanes that have learned a training step.
struct LearnedLanes : StepLanes {
  LearnedLanes() : StepLanes(2) {
    EXPECT_EQ(begin(StepKind::kTraining), Step::kFirst);
    end();
    for (int step = 0; step < kTimedSteps; ++step) {
      EXPECT_EQ(begin(StepKind::kTraining), Step::kRecorded);
      EXPECT_FALSE(next("make"));
      learn(diamond(), {1, 1, 1, 1});
      end();
    }
  }
};

TEST(StepLanes, FollowsTheLastRecordedStep) {
  LearnedLanes lanes;
  EXPECT_EQ(lanes.begin(StepKind::kTraining), StepLanes::Step::kOnLanes);
  EXPECT_TRUE(lanes.next("make"));
  const std::optional<LaneId> left = lanes.next("left"), right = lanes.next("right");
  ASSERT_TRUE(left && right);
  EXPECT_NE(*left, *right);
  EXPECT_TRUE(lanes.next("join"));
  EXPECT_FALSE(lanes.next("more")) << "the recorded step had four ops";
}

// Waking a lane costs more than the microsecond that the second timed step shows.
TEST(StepLanes, TakesTheLeastSecondsOfEachOp) {
  StepLanes lanes(2, 1e-4);
  lanes.begin(StepKind::kTraining);
  for (const double seconds : {1.0, 1e-6, 1.0}) {
    lanes.begin(StepKind::kTraining);
    lanes.learn(diamond(), std::vector<double>(4, seconds));
  }
  lanes.begin(StepKind::kTraining);
  for (const char* op : {"make", "left", "right", "join"}) EXPECT_EQ(lanes.next(op), 0u);
}

TEST(StepLanes, KindsOfStepsAreLearnedSeparately) {
  LearnedLanes lanes;
  EXPECT_EQ(lanes.begin(StepKind::kInference), StepLanes::Step::kFirst);
  EXPECT_FALSE(lanes.on_lanes());
  EXPECT_EQ(lanes.begin(StepKind::kInference), StepLanes::Step::kRecorded);
  EXPECT_EQ(lanes.learned(), 1u);
  EXPECT_EQ(lanes.begin(StepKind::kTraining), StepLanes::Step::kOnLanes);
}

TEST(StepLanes, AStepThatDiffersPutsOpsWhereTheyCanBeginFirst) {
  LearnedLanes lanes;
  lanes.begin(StepKind::kTraining);
  EXPECT_FALSE(lanes.next("left"));
  EXPECT_FALSE(lanes.next("right")) << "the rest differs, too";
  const auto soonest = [&lanes](const char* op, LaneClock before, LaneClock enqueued) {
    return lanes.soonest(Phase::kForward, op, "", before, enqueued);
  };
  EXPECT_EQ(soonest("left", {5, 5}, {5, 5}), 0u) << "ops before the step count as done";
  EXPECT_EQ(soonest("right", {5, 5}, {6, 5}), 1u) << "lane 0 is busy";
  EXPECT_EQ(soonest("join", {0, 6}, {6, 6}), 1u) << "a lane waits for itself at no cost";
  EXPECT_EQ(soonest("left", {6, 0}, {6, 7}), 0u);
}

TEST(StepLanes, PlansStepsWhoseBlocksLiveAsTheRecordedOnes) {
  const LearnedLanes lanes;
  EXPECT_EQ(lanes.learned(), 1u);
  const Trace trace = simulate(diamond());
  const Plan plan = lanes.plan(trace);
  EXPECT_NE(plan.planner, kApartPlanner);
  Trace larger = trace;
  larger.blocks.front().bytes *= 8;
  EXPECT_NE(lanes.plan(larger).planner, kApartPlanner);
  EXPECT_GT(lanes.plan(larger).peak, plan.peak);
  Trace longer = trace;
  longer.blocks.front().upper = longer.blocks.back().upper;
  EXPECT_EQ(lanes.plan(longer).planner, kApartPlanner)
      << "a block that lives longer must keep its bytes longer";
}

// A context on lanes of the CPU.
struct LaneContext {
  explicit LaneContext(std::size_t lanes)
      : context(pool, {.compute = std::make_shared<CpuCompute>(
                           CpuOptions{.lanes = lanes, .wake_seconds = 0})}) {}

  std::vector<float> read(const Tensor& tensor) {
    std::vector<float> values(static_cast<std::size_t>(tensor.shape().elements()));
    context.compute().read(values.data(), tensor.address(), tensor.spec().bytes());
    return values;
  }

  CpuDevice device;
  BestFitPool pool{device};
  Context context;
};

// The gradient after some steps of a small program with branches.
std::vector<float> gradient_on(std::size_t lanes) {
  LaneContext run(lanes);
  const std::vector<float> host(1000, 0.25f);
  const Parameter w = make_parameter(run.context, {Shape{1000}}, "w", host.data());
  for (int step = 0; step < 5; ++step) {
    run.context.begin_step();
    Tensor left = sigmoid(run.context, relu(run.context, w.value));
    Tensor right = relu(run.context, sigmoid(run.context, w.value));
    backward(run.context, total(run.context, left));
    backward(run.context, total(run.context, right));
    run.context.end_step();
  }
  return run.read(w.gradient);
}

TEST(LaneContext, GivesTheBitsOfOneLane) {
  const std::vector<float> expected = gradient_on(1);
  EXPECT_NE(expected.front(), 0);
  EXPECT_EQ(gradient_on(2), expected);
  EXPECT_EQ(gradient_on(4), expected);
}

TEST(LaneContext, HostAccessWaitsForEnqueuedOps) {
  LaneContext run(2);
  const std::vector<float> host(4, -1.0f), other(4, 2.0f);
  const Tensor x = run.context.resident({Shape{4}}, Category::kState, "x", host.data());
  for (int step = 0; step < 4; ++step) {
    run.context.begin_step();
    run.context.write(x, host.data());
    const Tensor y = relu(run.context, x);
    run.context.write(x, other.data());
    EXPECT_EQ(run.read(y), std::vector<float>(4, 0.0f)) << "of the value before the write";
    EXPECT_EQ(run.read(relu(run.context, x)), other);
    run.context.end_step();
  }
}

TEST(LaneContext, HasAKernelForEachLane) {
  LaneContext run(2);
  const std::vector<TensorSpec> specs = {{Shape{4}}};
  EXPECT_NE(run.context.kernel(*relu_op(), specs, 1), run.context.kernel(*relu_op(), specs));
  EXPECT_EQ(run.context.kernel(*relu_op(), specs, 1), run.context.kernel(*relu_op(), specs, 1));
}

TEST(LaneContext, ADryRunHasNoLanes) {
  LaneContext run(2);
  Context dry(run.pool, {.compute = run.context.options().compute, .execute = false});
  for (int step = 0; step < 3; ++step) {
    dry.begin_step();
    dry.end_step();
  }
  run.context.begin_step();
  EXPECT_FALSE(run.context.compute().lanes()->steps.on_lanes());
  run.context.end_step();
}

}  // namespace
}  // namespace skyline
