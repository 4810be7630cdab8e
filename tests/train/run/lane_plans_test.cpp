// Plans of steps on lanes: in them, no lane waits for bytes. Lanes learn here that each op takes a
// second, so that plans do not depend on the machine.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>

#include "framework/lanes/lane_runner.h"
#include "memory/lanes/lane_planner.h"
#include "tests/train/images/small_training.h"
#include "tests/train/translation/small_translation.h"
#include "train/run/dry_run.h"

namespace skyline {
namespace {

using namespace tests;

Context::Options options_on(std::size_t lanes) {
  return {.compute = std::make_shared<CpuCompute>(
              CpuOptions{.lanes = lanes, .wake_seconds = 0, .lanes_must_pay = false}),
          .seed = 7};
}

void learn(StepLanes& steps, const StepGraph& graph) {
  for (int step = 0; step < StepLanes::kStepsBefore; ++step) {
    const StepLanes::Step now = steps.begin(StepKind::kTraining);
    ASSERT_NE(now, StepLanes::Step::kOnLanes);
    for (OpId op = 0; op < graph.ops.size(); ++op) steps.time(op, 1, false);
    if (step > 0) steps.learn(graph);
    steps.end();
  }
}

class LanePlansTest : public ::testing::TestWithParam<ShapePolicy> {
 protected:
  LanePlansTest() { omp_set_num_threads(1); }
  ~LanePlansTest() override { omp_set_num_threads(threads_before_); }

  // Makes the plan that a budget or a policy makes before the first step.
  static void plan_ahead(ImageRun& run) {
    DryRun dry(std::make_unique<ImageRun>(dry_memory(run.memory.guarded()),
                                          dry_context(run.context.options(), Mode::kTraining),
                                          run_options()));
    run.memory.session()->adopt(dry.foresee(kBatch, Mode::kTraining).trace, training_key(kBatch));
  }

  static Context::Options on_learned_lanes() {
    DryRun dry(std::make_unique<ImageRun>(dry_memory(), dry_context(options_on(1), Mode::kTraining),
                                          run_options()));
    const DryRunFacts facts = dry.foresee(kBatch, Mode::kTraining, DryRun::Graph::kOn);
    Context::Options options = options_on(2);
    learn(lane_runner(*options.compute)->steps(), facts.step.graph);
    return options;
  }

  static ImageRunOptions run_options(const MemoryWatch& watch = {}) {
    return {.model = "resnet20", .shape = small_shape("resnet20"), .watch = watch};
  }

  static std::string train(ImageRun& run, std::size_t steps = StepLanes::kStepsBefore + 1) {
    for (const Batch& batch : small_batches(small_shape("resnet20"), kBatch, steps)) {
      run.train_step(batch, small_params());
    }
    return parameters_sha256(run);
  }

  static std::string one_lane() {
    ImageRun run({}, options_on(1), run_options());
    return train(run);
  }

  static void expect_plan_for_lanes(const ModelRun& run) {
    const Session& session = *run.memory.session();
    EXPECT_EQ(session.plan().planner, kLanesPlanner);
    EXPECT_GT(session.plan().peak, session.plan().lower_bound) << "lanes cost bytes";
    EXPECT_EQ(session.session_statistics().deviations, 0u);
  }

  static constexpr std::int64_t kBatch = 4;

 private:
  int threads_before_ = omp_get_max_threads();
};

INSTANTIATE_TEST_SUITE_P(Policies, LanePlansTest,
                         ::testing::Values(ShapePolicy::kGrow, ShapePolicy::kPerShape,
                                           ShapePolicy::kUpperBound));

TEST_P(LanePlansTest, ServeFromTheSecondStepOnThatLanesKnow) {
  const std::string expected = one_lane();
  for (const bool guard : {false, true}) {
    ImageRun run({.policy = GetParam(), .guard = guard, .check = true}, on_learned_lanes(),
                 run_options());
    EXPECT_EQ(train(run), expected);
    expect_plan_for_lanes(run);
  }
}

TEST_P(LanePlansTest, ReplacePlansMadeBeforeTheFirstStep) {
  const std::string expected = one_lane();
  for (const bool guard : {false, true}) {
    ImageRun run({.policy = GetParam(), .guard = guard, .check = true}, on_learned_lanes(),
                 run_options());
    plan_ahead(run);
    train(run, 1);
    expect_plan_for_lanes(run);
    ImageRun whole({.policy = GetParam(), .guard = guard, .check = true}, on_learned_lanes(),
                   run_options());
    plan_ahead(whole);
    EXPECT_EQ(train(whole), expected);
    EXPECT_EQ(whole.memory.session()->session_statistics().adopted_plans, 1u);
  }
}

// The recorded step is one of the run's own.
TEST_P(LanePlansTest, FollowTheStepThatTheRunRecorded) {
  const Context::Options options = options_on(2);
  ImageRun run({.policy = GetParam(), .check = true}, options, run_options());
  plan_ahead(run);
  EXPECT_EQ(train(run), one_lane());
  const Session& session = *run.memory.session();
  const Plan planned = lane_runner(*options.compute)->steps().plan(session.trace()).value();
  EXPECT_NE(planned.planner, kApartPlanner);
  EXPECT_EQ(planned.offsets, session.plan().offsets);
}

// A device with room for the plan of lanes, then with a page less.
TEST_P(LanePlansTest, NeedRoomBesideResidentMemory) {
  const std::string expected = one_lane();
  const Context::Options options = on_learned_lanes();
  ImageRun free({.policy = GetParam()}, options, run_options());
  plan_ahead(free);
  train(free);
  const Session& lanes = *free.memory.session();
  const std::size_t needed = lanes.statistics().reserved_bytes;
  for (const std::size_t capacity : {needed, needed - kCommitBytes}) {
    std::vector<std::string> problems;
    const SessionListener listener = [&](const SessionEvent& event) {
      if (!event.problem.empty()) problems.push_back(event.problem);
    };
    ImageRun run({.capacity_bytes = capacity, .policy = GetParam()}, options,
                 run_options({.listener = listener}));
    plan_ahead(run);
    EXPECT_EQ(train(run), expected);
    const Session& session = *run.memory.session();
    EXPECT_EQ(session.state(), Session::State::kPlanned);
    EXPECT_LE(session.statistics().peak_reserved_bytes, capacity);
    EXPECT_EQ(session.plan().planner == kLanesPlanner, capacity == needed);
    if (capacity == needed) {
      EXPECT_TRUE(problems.empty()) << problems.front();
    } else {
      ASSERT_EQ(problems.size(), 1u);
      EXPECT_THAT(problems.front(), testing::HasSubstr(std::to_string(lanes.plan().peak)));
    }
  }
}

// Steps of packed text have the same ops; their sizes differ.
TEST_P(LanePlansTest, ServeTextOfOtherLengths) {
  const TranslationData data = small_text();
  const TranslationRunOptions small = small_run(small_seq2seq(data));
  const std::vector<PairBatch> batches = small_pair_batches(data, 6);
  std::vector<Trace> traces;
  TranslationDryRun dry({}, small);
  for (const PairBatch& batch : batches) traces.push_back(dry.trace({batch}));
  const auto train_on = [&](const Context::Options& options, bool ahead) {
    TranslationRun run({.policy = GetParam(), .check = true}, options, small);
    if (ahead) run.memory.session()->adopt(traces, translation_key(batches.front()));
    std::vector<float> losses;
    for (int time = 0; time < 2; ++time) {
      for (const float loss : run_steps(run, batches)) losses.push_back(loss);
      run.memory.session()->wait_for_plan();
    }
    return std::tuple(losses, parameters_sha256(run), run.memory.session()->plan().planner);
  };
  const auto [losses, parameters, planner] = train_on(options_on(1), false);
  EXPECT_NE(planner, kLanesPlanner);
  Context::Options options = options_on(2);
  learn(lane_runner(*options.compute)->steps(),
        dry.foresee({batches.front()}, DryRun::Graph::kOn).step.graph);
  EXPECT_EQ(train_on(options, true), std::tuple(losses, parameters, std::string(kLanesPlanner)));
}

// Such batches are planned while the step before runs, too fast for a schedule of lanes.
TEST(LanePlans, KeepBlocksApartWhereEachBatchIsPlanned) {
  const TranslationData data = small_text();
  TranslationRunOptions small = small_run(small_seq2seq(data, true));
  small.plan_each_batch = true;
  small.loader = {.batch_size = 6};
  struct Outcome {
    std::vector<float> losses;
    std::vector<std::string> planners;
    std::size_t peak_bytes = 0;       // reserved
    std::uint64_t planned_bytes = 0;  // of the largest plan
  };
  const auto train_on = [&](std::size_t lanes, std::optional<std::uint64_t> capacity,
                            std::uint64_t plan_bytes) {
    TranslationRunOptions on_lanes = small;
    on_lanes.dry_compute = options_on(lanes).compute;
    TranslationRun run({.capacity_bytes = capacity, .policy = ShapePolicy::kUpperBound},
                       options_on(lanes), on_lanes, &data);
    run.choose_from({.plan_bytes = plan_bytes});
    run.seek({}, 4);
    Outcome outcome;
    for (std::int64_t step = 1; step <= 6; ++step) {
      run.next();
      const Plan& plan = run.memory.session()->plan();
      outcome.planners.push_back(plan.planner);
      outcome.planned_bytes = std::max(outcome.planned_bytes, plan.peak);
      outcome.losses.push_back(
          static_cast<ModelRun&>(run).train_step({.learning_rate = 1e-3f, .step = step}));
    }
    outcome.peak_bytes = run.memory.device().statistics().peak_reserved_bytes;
    return outcome;
  };
  constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();
  const Outcome one = train_on(1, {}, kAny), two = train_on(2, {}, kAny);
  EXPECT_EQ(two.losses, one.losses);
  EXPECT_GT(two.peak_bytes, one.peak_bytes);
  EXPECT_THAT(two.planners, testing::Contains(kApartPlanner).Times(5)) << "after the first step";
  const std::uint64_t less = two.peak_bytes - kCommitBytes;
  const Outcome tight = train_on(2, less, kAny);
  EXPECT_EQ(tight.losses, one.losses);
  EXPECT_LE(tight.peak_bytes, less);
  const Outcome chosen = train_on(2, {}, two.planned_bytes - 1);
  EXPECT_EQ(chosen.losses, one.losses);
  EXPECT_LT(chosen.planned_bytes, two.planned_bytes);
}

}  // namespace
}  // namespace skyline
