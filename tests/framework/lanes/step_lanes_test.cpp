#include "framework/lanes/step_lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "framework/lanes/lane_runner.h"
#include "framework/ops/activation/activations.h"
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

// Ends a timed step in which the ops took so long.
void learn_step(StepLanes& lanes, const StepGraph& graph, const std::vector<double>& seconds,
                const std::vector<bool>& shared = {}) {
  for (OpId op = 0; op < graph.ops.size(); ++op) {
    lanes.time(op, seconds[op], !shared.empty() && shared[op]);
  }
  lanes.learn(graph);
}

// Two lanes that have learned a training step.
struct LearnedLanes : StepLanes {
  LearnedLanes() : StepLanes(2) {
    EXPECT_EQ(begin(StepKind::kTraining), Step::kFirst);
    end();
    for (const Step kind : {Step::kTimed, Step::kTimedWide}) {
      for (int step = 0; step < kTimedSteps; ++step) {
        EXPECT_EQ(begin(StepKind::kTraining), kind);
        EXPECT_FALSE(next(Phase::kForward, "make", ""));
        learn_step(*this, diamond(), {1, 1, 1, 1});
        end();
      }
    }
  }
};

TEST(StepLanes, FollowsTheLastRecordedStep) {
  LearnedLanes lanes;
  EXPECT_EQ(lanes.begin(StepKind::kTraining), StepLanes::Step::kOnLanes);
  EXPECT_TRUE(lanes.next(Phase::kForward, "make", ""));
  const std::optional<LaneId> left = lanes.next(Phase::kForward, "left", ""),
                              right = lanes.next(Phase::kForward, "right", "");
  ASSERT_TRUE(left && right);
  EXPECT_NE(*left, *right);
  EXPECT_TRUE(lanes.next(Phase::kForward, "join", ""));
  EXPECT_FALSE(lanes.next(Phase::kForward, "more", "")) << "the recorded step had four ops";
}

// Waking a lane costs more than the microsecond that the second timed step shows.
TEST(StepLanes, TakesTheLeastSecondsOfEachOp) {
  StepLanes lanes(2, 1e-4);
  lanes.begin(StepKind::kTraining);
  for (const double seconds : {1.0, 1e-6, 1.0, 1.0, 1.0, 1.0}) {
    lanes.begin(StepKind::kTraining);
    learn_step(lanes, diamond(), std::vector<double>(4, seconds));
  }
  lanes.begin(StepKind::kTraining);
  for (const char* op : {"make", "left", "right", "join"})
    EXPECT_EQ(lanes.next(Phase::kForward, op, ""), 0u);
}

TEST(StepLanes, AllLanesRunAnOpThatIsFasterSo) {
  StepLanes lanes(2);
  lanes.begin(StepKind::kTraining);
  EXPECT_FALSE(lanes.wide());
  for (int step = 0; step < StepLanes::kTimedSteps; ++step) {
    lanes.begin(StepKind::kTraining);
    EXPECT_FALSE(lanes.next(Phase::kForward, "make", ""));
    EXPECT_FALSE(lanes.wide());
    learn_step(lanes, diamond(), {4, 4, 4, 4});
  }
  for (int step = 0; step < StepLanes::kTimedSteps; ++step) {
    lanes.begin(StepKind::kTraining);
    EXPECT_FALSE(lanes.next(Phase::kForward, "make", ""));
    EXPECT_TRUE(lanes.wide());
    learn_step(lanes, diamond(), {2, 3, 1, 1}, {true, true, false, false});
  }
  lanes.begin(StepKind::kTraining);
  const std::vector<std::pair<const char*, bool>> expected = {
      {"make", true}, {"left", false}, {"right", false}, {"join", false}};
  for (const auto& [op, wide] : expected) {
    EXPECT_TRUE(lanes.next(Phase::kForward, op, ""));
    EXPECT_EQ(lanes.wide(), wide) << op << ": left beside right takes 4, before it 3 + 4";
  }
  lanes.end();
  EXPECT_FALSE(lanes.wide()) << "no step runs";
}

TEST(StepLanes, AWideStepOfOtherOpsTellsNothing) {
  StepLanes lanes(2);
  lanes.begin(StepKind::kTraining);
  StepGraph other = diamond();
  other.ops.back().name = "other";
  for (int step = 0; step < 2 * StepLanes::kTimedSteps; ++step) {
    lanes.begin(StepKind::kTraining);
    learn_step(lanes, step < StepLanes::kTimedSteps ? diamond() : other, {1, 1, 1, 1},
               std::vector<bool>(4, true));
  }
  lanes.begin(StepKind::kTraining);
  EXPECT_TRUE(lanes.next(Phase::kForward, "make", ""));
  EXPECT_FALSE(lanes.wide());
}

TEST(StepLanes, KindsOfStepsAreLearnedSeparately) {
  LearnedLanes lanes;
  EXPECT_EQ(lanes.begin(StepKind::kInference), StepLanes::Step::kFirst);
  EXPECT_FALSE(lanes.on_lanes());
  EXPECT_EQ(lanes.begin(StepKind::kInference), StepLanes::Step::kTimed);
  EXPECT_EQ(lanes.learned(), 1u);
  EXPECT_EQ(lanes.begin(StepKind::kTraining), StepLanes::Step::kOnLanes);
}

TEST(StepLanes, AStepThatDiffersPutsOpsWhereTheyCanBeginFirst) {
  LearnedLanes lanes;
  lanes.begin(StepKind::kTraining);
  EXPECT_FALSE(lanes.next(Phase::kForward, "left", ""));
  EXPECT_FALSE(lanes.next(Phase::kForward, "right", "")) << "the rest differs, too";
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
  const Plan plan = lanes.plan(trace).value();
  EXPECT_NE(plan.planner, kApartPlanner);
  Trace larger = trace;
  larger.blocks.front().bytes *= 8;
  EXPECT_NE(lanes.plan(larger)->planner, kApartPlanner);
  EXPECT_GT(lanes.plan(larger)->peak, plan.peak);
  Trace longer = trace;
  longer.blocks.front().upper = longer.blocks.back().upper;
  EXPECT_EQ(lanes.plan(longer)->planner, kApartPlanner)
      << "a block that lives longer must keep its bytes longer";
}

// A block of lane 0 that is freed before a wide op serves one of lane 1 that is made after it.
TEST(StepLanes, PlansShareBytesAcrossWideOps) {
  StepGraph graph;
  for (const std::uint64_t bytes : {16384, 4096, 64, 64, 64, 4096, 16384, 64}) {
    graph.values.push_back({.bytes = bytes, .storage = static_cast<ValueId>(graph.values.size())});
  }
  graph.ops = {{.name = "left", .outputs = {0}},
               {.name = "right", .outputs = {1}},
               {.name = "end left", .inputs = {0}, .outputs = {2}},
               {.name = "end right", .inputs = {1}, .outputs = {3}},
               {.name = "wide", .inputs = {2}, .outputs = {4}},
               {.name = "left again", .inputs = {4}, .outputs = {5}},
               {.name = "right again", .inputs = {3}, .outputs = {6}},
               {.name = "join", .inputs = {5, 6}, .outputs = {7}}};
  StepLanes lanes(2);
  for (int step = 0; step < StepLanes::kStepsBefore; ++step) {
    lanes.begin(StepKind::kTraining);
    const double wide = step > StepLanes::kTimedSteps ? 2 : 4;
    if (step > 0) learn_step(lanes, graph, {1, 1, 1, 1, wide, 1, 1, 1}, std::vector<bool>(8, true));
    lanes.end();
  }
  lanes.begin(StepKind::kTraining);
  for (const StepOp& op : graph.ops) {
    lanes.next(Phase::kForward, op.name, "");
    EXPECT_EQ(lanes.wide(), op.name == "wide") << op.name;
  }
  EXPECT_LT(lanes.plan(simulate(graph))->peak, 24 * 1024u) << "without: 32 KiB";
}

TEST(LaneTrial, TakesTurnsAndThenTheFasterWay) {
  for (const bool pays : {false, true}) {
    LaneTrial trial;
    for (int step = 0; step < 2 * LaneTrial::kSteps; ++step) {
      EXPECT_FALSE(trial.decided());
      EXPECT_EQ(trial.on_lanes(), step % 2 == 0);
      trial.add(step < 2 ? 9.0 : trial.on_lanes() == pays ? 1.0 : 2.0);
    }
    EXPECT_TRUE(trial.decided());
    EXPECT_EQ(trial.on_lanes(), pays);
  }
}

TEST(LaneTrial, LanesMustSaveMoreThanALittle) {
  for (const double saved : {0.1, 0.2}) {
    LaneTrial trial;
    while (!trial.decided()) trial.add(trial.on_lanes() ? 1 - saved : 1);
    EXPECT_EQ(trial.on_lanes(), saved == 0.2);
  }
}

TEST(LaneTrial, OneSlowStepDecidesNothing) {
  LaneTrial trial;
  for (int step = 0; step < 2 * LaneTrial::kSteps; ++step) {
    trial.add(step == 4 ? 100.0 : trial.on_lanes() ? 1.0 : 2.0);
  }
  EXPECT_TRUE(trial.on_lanes());
}

TEST(StepLanes, GoBackToOneLaneWhereTheyAreNoFaster) {
  StepLanes lanes(2, 0, true);
  for (int step = 0; step < StepLanes::kStepsBefore; ++step) {
    lanes.begin(StepKind::kTraining);
    if (step > 0) learn_step(lanes, diamond(), {1, 1, 1, 1});
    lanes.end();
  }
  EXPECT_TRUE(lanes.plan(simulate(diamond())));
  for (int step = 0; step < 2 * LaneTrial::kSteps; ++step) {
    const bool on_lanes = lanes.begin(StepKind::kTraining) == StepLanes::Step::kOnLanes;
    EXPECT_EQ(on_lanes, step % 2 == 0);
    EXPECT_EQ(lanes.on_lanes(), on_lanes);
    lanes.next(Phase::kForward, "make", "");
    if (on_lanes) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    lanes.end();
  }
  EXPECT_EQ(lanes.begin(StepKind::kTraining), StepLanes::Step::kOneLane);
  EXPECT_FALSE(lanes.next(Phase::kForward, "make", ""));
  EXPECT_FALSE(lanes.plan(simulate(diamond()))) << "a plan for one lane will do";
}

TEST(StepLanes, AStepThatDiffersRunsOpsOnAllLanesWhereThatPays) {
  StepLanes lanes(2);
  StepGraph other = diamond();
  other.ops.push_back(other.ops.back());
  for (int step = 0; step < StepLanes::kStepsBefore; ++step) {
    lanes.begin(StepKind::kTraining);
    if (step > StepLanes::kTimedSteps) {
      learn_step(lanes, other, {2, 0.5, 1, 3, 1}, {true, true, true, true, true});
    } else if (step > 0) {
      learn_step(lanes, diamond(), {1, 1, 1, 3});
    }
    lanes.end();
  }
  lanes.begin(StepKind::kTraining);
  const std::vector<std::pair<const char*, bool>> expected = {
      {"left", true}, {"make", false}, {"right", false}, {"join", true}, {"new", false}};
  for (const auto& [op, wide] : expected) {
    EXPECT_FALSE(lanes.next(Phase::kForward, op, ""));
    EXPECT_EQ(lanes.wide(), wide) << op << ": two joins took 2 each on all lanes, 3 on one";
  }
}

// A context on lanes of the CPU.
struct LaneContext {
  explicit LaneContext(std::size_t lanes)
      : context(pool, {.compute = std::make_shared<CpuCompute>(CpuOptions{
                           .lanes = lanes, .wake_seconds = 0, .lanes_must_pay = false})}) {}

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
  for (int step = 0; step < StepLanes::kStepsBefore + 3; ++step) {
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
  for (int step = 0; step < StepLanes::kStepsBefore + 3; ++step) {
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
  EXPECT_NE(run.context.kernels().get(*relu_op(), specs, 1),
            run.context.kernels().get(*relu_op(), specs));
  EXPECT_EQ(run.context.kernels().get(*relu_op(), specs, 1),
            run.context.kernels().get(*relu_op(), specs, 1));
}

TEST(LaneContext, ADryRunHasNoLanes) {
  LaneContext run(2);
  Context dry(run.pool, {.compute = run.context.options().compute, .dry_run = Emulation()});
  for (int step = 0; step < 3; ++step) {
    dry.begin_step();
    dry.end_step();
  }
  run.context.begin_step();
  EXPECT_FALSE(lane_runner(run.context.compute())->steps().on_lanes());
  run.context.end_step();
}

}  // namespace
}  // namespace skyline
