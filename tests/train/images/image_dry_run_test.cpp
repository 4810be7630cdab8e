#include "train/lab/dry_run/model_dry_run.h"

#include <gtest/gtest.h>

#include <numeric>

#include "memory/replay/live_bytes.h"
#include "memory/replay/trace_replay.h"
#include "tests/train/images/small_training.h"

namespace skyline {
namespace {

using namespace tests;

DryRunFacts lenet(Mode mode = Mode::kTraining) {
  return dry_run({.model = "lenet", .shape = {}, .batch_size = 32, .mode = mode});
}

TEST(DryRunTest, ResidentMemoryIsParametersGradientsAndVelocities) {
  const DryRunFacts facts = lenet();
  EXPECT_EQ(facts.parameters, 61'706);
  const auto peak = [&](Category category) {
    return facts.peak_bytes[static_cast<std::size_t>(category)];
  };
  EXPECT_EQ(peak(Category::kParameter), 4u * 61'706);
  EXPECT_EQ(peak(Category::kParameterGradient), 4u * 61'706);
  EXPECT_EQ(peak(Category::kOptimizer), 4u * 61'706);
  EXPECT_GE(facts.resident_bytes, 3u * 4 * 61'706);
  EXPECT_EQ(facts.resident_bytes % kAlignmentBytes, 0u);
}

TEST(DryRunTest, InferenceKeepsNeitherGradientsNorVelocities) {
  const DryRunFacts facts = lenet(Mode::kInference);
  EXPECT_EQ(facts.peak_bytes[static_cast<std::size_t>(Category::kParameterGradient)], 0u);
  EXPECT_EQ(facts.peak_bytes[static_cast<std::size_t>(Category::kOptimizer)], 0u);
  EXPECT_LT(facts.resident_bytes, lenet().resident_bytes / 2);
  EXPECT_LT(lower_bound_bytes(facts.trace, kAlignmentBytes),
            lower_bound_bytes(lenet().trace, kAlignmentBytes));
}

// A network whose user keeps its logits.
struct HoldingModel : Model {
  explicit HoldingModel(std::unique_ptr<Model> network)
      : Model(network->shape()), inner(std::move(network)) {}
  Prediction forward(Context& context, Tensor images) const override {
    Prediction prediction = inner->forward(context, std::move(images));
    held = prediction.logits;
    return prediction;
  }
  std::unique_ptr<Model> inner;
  mutable Tensor held;
};

TEST(DryRunTest, AHeldTensorIsAWarningOnce) {
  ImageRun run({.device = "simulated"}, {.dry_run = Emulation()}, {.model = "lenet", .shape = {}});
  Batch batch;
  batch.size = 32;
  run.train_step(batch, {});
  EXPECT_EQ(run.take_news(), std::nullopt);
  run.model = std::make_unique<HoldingModel>(std::move(run.model));
  run.train_step(batch, {});
  const std::string news = run.take_news().value_or("");
  EXPECT_NE(news.find("warning: the step ends with 1.25 KiB alive"), news.npos) << news;
  run.train_step(batch, {});
  EXPECT_EQ(run.take_news(), std::nullopt);
}

TEST(DryRunTest, PrefetchKeepsRoomForOneBatchAndChangesNoStep) {
  const auto run = [](std::int64_t batch_size, bool prefetch) {
    return dry_run({.model = "lenet", .shape = {}, .batch_size = batch_size, .prefetch = prefetch});
  };
  const DryRunFacts facts = run(32, true);
  EXPECT_EQ(facts.resident_bytes, lenet().resident_bytes + 32 * 28 * 28 * 4 + kAlignmentBytes);
  EXPECT_TRUE(facts.trace.same_requests(lenet().trace));

  DryRun program = make_dry_run({.model = "lenet", .shape = {}, .prefetch = true});
  for (const std::int64_t batch_size : {32, 64, 8}) {
    EXPECT_EQ(program.foresee(batch_size, Mode::kTraining).resident_bytes,
              run(batch_size, true).resident_bytes);
  }
  ImageRun experiment({.device = "simulated"}, {.dry_run = Emulation(), .prefetch = true},
                      {.model = "lenet", .shape = {}});
  Batch batch;
  batch.size = 32;
  experiment.train_step(batch, {});
  EXPECT_EQ(experiment.resident_bytes(), facts.resident_bytes);
}

TEST(DryRunTest, FusedUpdatesKeepNoGradientOverSteps) {
  const DryRunFacts facts =
      dry_run({.model = "lenet", .shape = {}, .batch_size = 32, .step = {.fused_update = true}});
  EXPECT_EQ(facts.peak_bytes[static_cast<std::size_t>(Category::kParameterGradient)], 0u);
  EXPECT_NEAR(static_cast<double>(facts.resident_bytes),
              2.0 / 3.0 * static_cast<double>(lenet().resident_bytes), 512);
  const auto needed = [](const DryRunFacts& of) {
    return of.resident_bytes + lower_bound_bytes(of.trace, kAlignmentBytes);
  };
  EXPECT_LT(needed(facts), needed(lenet()));
}

TEST(DryRunTest, PartsOfTheLowerBoundAddUp) {
  for (const Mode mode : {Mode::kTraining, Mode::kInference}) {
    const DryRunFacts facts = lenet(mode);
    const auto parts = lower_bound_parts(facts.trace, kAlignmentBytes);
    EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), std::uint64_t{0}),
              lower_bound_bytes(facts.trace, kAlignmentBytes));
  }
}

TEST(DryRunTest, BatchesThatNoMachineHoldsAreAnswered) {
  const DryRunFacts facts =
      dry_run({.model = "resnet20", .shape = find_model("resnet20").shape, .batch_size = 100'000});
  EXPECT_GT(lower_bound_bytes(facts.trace, kAlignmentBytes), std::uint64_t{100} << 30);
}

// Without sharing, every block lives to the end. Without in place, every output is a new block.
TEST(DryRunTest, StrategiesNeverNeedMoreThanTheirAbsence) {
  const StepGraph graph = lenet().step.graph;
  const auto bytes = [&](bool in_place, bool sharing) {
    return lower_bound_bytes(simulate(graph, {.in_place = in_place, .sharing = sharing}),
                             kAlignmentBytes);
  };
  EXPECT_LT(bytes(true, true), bytes(false, true));
  EXPECT_LT(bytes(true, true), bytes(true, false));
  EXPECT_LT(bytes(true, false), bytes(false, false));
}

TEST(TraceReplayTest, NetworkWiseReservesEveryRequest) {
  const Trace trace = lenet().trace;
  std::uint64_t sum = 0;
  for (const TraceBlock& block : trace.blocks) sum += align_checked(block.bytes, kAlignmentBytes);
  EXPECT_EQ(replay_trace(trace, "network-wise").statistics.peak_reserved_bytes, sum);
}

TEST(TraceReplayTest, APoolReservesWhatItDidInTheDryRun) {
  const Trace trace = lenet().trace;
  ImageRun experiment({.device = "simulated", .allocator = "best-fit-pool"},
                      {.dry_run = Emulation()}, {.model = "lenet", .shape = {}});
  Batch batch;
  batch.size = 32;
  experiment.train_step(batch, {});
  EXPECT_EQ(experiment.resident_bytes() +
                replay_trace(trace, "best-fit-pool").statistics.peak_reserved_bytes,
            experiment.memory.statistics().peak_reserved_bytes);
}

TEST(TraceReplayTest, CurvesEndEmptyAndPeakAtTheLiveBytes) {
  const Trace trace = lenet().trace;
  const Plan planned = plan(trace);
  for (const AllocatorCurve& curve :
       {replay_trace(trace, "best-fit-pool").curve, planned_curve(trace, planned)}) {
    SCOPED_TRACE(curve.name);
    ASSERT_EQ(curve.points.size(), 2 * trace.size());
    EXPECT_EQ(curve.points.back().live_bytes, 0u);
    std::uint64_t live = 0, reserved = 0;
    for (const MemoryPoint& point : curve.points) {
      EXPECT_LE(point.live_bytes, point.reserved_bytes);
      live = std::max(live, point.live_bytes);
      reserved = std::max(reserved, point.reserved_bytes);
    }
    EXPECT_LE(live, planned.lower_bound);
    EXPECT_GE(reserved, planned.lower_bound);
  }
}

}  // namespace
}  // namespace skyline
