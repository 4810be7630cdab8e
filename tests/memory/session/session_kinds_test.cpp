// Training and evaluation steps in one session: plans of their own, one arena.
#include <gtest/gtest.h>

#include <vector>

#include "memory/adaptors/checking_adaptors.h"
#include "memory/adaptors/observing_adaptors.h"
#include "memory/allocators/best_fit_pool.h"
#include "memory/device/simulated_device.h"
#include "memory/session/session.h"
#include "tests/memory/units.h"

namespace skyline {
namespace {

constexpr ShapeKey kTrain{32}, kEvaluate{32, StepKind::kInference};
using Sizes = std::vector<std::size_t>;
const Sizes kLayers = {3 * kMiB, 5 * kMiB, kMiB, 7 * kMiB};

// Keeps every activation for the backward pass.
void train(Allocator& allocator, const Sizes& sizes, ShapeKey key = kTrain) {
  allocator.begin_step(key);
  std::vector<Block> kept;
  for (const std::size_t bytes : sizes) kept.push_back(allocator.allocate(bytes, {.op = "train"}));
  while (!kept.empty()) {
    allocator.allocate(kept.back().bytes(), {.op = "backward"}).reset();
    kept.pop_back();
  }
  allocator.end_step();
}

// Keeps one activation at a time, and requests a block that training does not.
void evaluate(Allocator& allocator, const Sizes& sizes, ShapeKey key = kEvaluate) {
  allocator.begin_step(key);
  Block logits = allocator.allocate(2 * kMiB, {.op = "evaluate"});
  Block previous;
  for (const std::size_t bytes : sizes) {
    Block next = allocator.allocate(bytes, {.op = "evaluate"});
    previous = std::move(next);
  }
  previous.reset();
  logits.reset();
  allocator.end_step();
}

Trace trace_of(void (*step)(Allocator&, const Sizes&, ShapeKey), ShapeKey key) {
  SimulatedDevice device;
  BestFitPool pool(device);
  RecordingAdaptor recording(pool);
  step(recording, kLayers, key);
  return recording.last_step();
}

class SessionKinds : public testing::TestWithParam<ShapePolicy> {
 protected:
  SimulatedDevice device_{1024 * kMiB};
  std::vector<SessionEvent> events_;
  Session session_{device_, {.policy = GetParam(), .listener = [this](const SessionEvent& event) {
                               events_.push_back(event);
                             }}};
  CheckingAdaptor checked_{session_};

  void expect_within(std::size_t arena_bytes) {
    const SessionStatistics figures = session_.session_statistics();
    EXPECT_EQ(session_.arena_bytes(), arena_bytes);
    EXPECT_EQ(figures.peak_reserved_bytes_since_switch, arena_bytes);
    EXPECT_EQ(figures.device_allocations_since_switch, 0u);
    EXPECT_EQ(figures.deviations, 0u);
  }
};

TEST_P(SessionKinds, AnAdoptedEvaluationRunsWithinTheTrainingPlan) {
  session_.adopt(trace_of(train, kTrain), kTrain);
  const std::size_t arena_bytes = session_.arena_bytes();
  const Trace training = trace_of(train, kTrain), evaluation = trace_of(evaluate, kEvaluate);
  session_.adopt(evaluation, kEvaluate);
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (int step = 0; step < 3; ++step) train(checked_, kLayers);
    EXPECT_TRUE(session_.trace().same_requests(training));
    for (int step = 0; step < 2; ++step) evaluate(checked_, kLayers);
    EXPECT_TRUE(session_.trace().same_requests(evaluation));
  }
  session_.begin_step(kTrain);
  expect_within(arena_bytes);
  EXPECT_EQ(session_.session_statistics().pool_calls, 0u);
  EXPECT_EQ(session_.session_statistics().replans, 0u);
}

TEST_P(SessionKinds, ARecordedEvaluationRunsWithinTheTrainingPlan) {
  for (int step = 0; step < 2; ++step) train(checked_, kLayers);
  const std::size_t arena_bytes = session_.arena_bytes();
  const std::uint64_t pool_calls = session_.session_statistics().pool_calls;
  for (int step = 0; step < 3; ++step) evaluate(checked_, kLayers);
  train(checked_, kLayers);
  session_.begin_step(kEvaluate);
  expect_within(arena_bytes);
  EXPECT_EQ(session_.session_statistics().pool_calls, pool_calls) << "the warm-up's";
  EXPECT_EQ(session_.session_statistics().replans, 1u) << "the evaluation's first plan";
  EXPECT_TRUE(session_.trace().same_requests(trace_of(evaluate, kEvaluate)));
}

TEST_P(SessionKinds, ADeviationReplansItsOwnKindOnly) {
  session_.adopt(trace_of(train, kTrain), kTrain);
  session_.adopt(trace_of(evaluate, kEvaluate), kEvaluate);
  Sizes longer = kLayers;
  longer.push_back(kMiB);
  evaluate(checked_, longer);
  train(checked_, kLayers);
  EXPECT_TRUE(session_.trace().same_requests(trace_of(train, kTrain)));
  ASSERT_EQ(events_.back().kind, SessionEvent::Kind::kReplanned);
  EXPECT_EQ(events_.back().shape_key, kEvaluate);
  train(checked_, longer);
  evaluate(checked_, longer);
  EXPECT_EQ(events_.back().kind, SessionEvent::Kind::kReplanned);
  EXPECT_EQ(events_.back().shape_key, kTrain);
  EXPECT_EQ(session_.trace().size(), 1 + longer.size());
  train(checked_, longer);
  session_.begin_step(kTrain);
  EXPECT_EQ(session_.session_statistics().replans, 2u);
}

TEST_P(SessionKinds, AnEvaluationLargerThanTrainingGrowsTheArenaToItsPeak) {
  for (int step = 0; step < 2; ++step) train(checked_, {kMiB});
  for (int step = 0; step < 2; ++step) evaluate(checked_, kLayers);
  EXPECT_EQ(session_.arena_bytes(), session_.plan().peak);
  train(checked_, {kMiB});
  EXPECT_EQ(session_.plan().peak, 2 * kMiB);
  EXPECT_EQ(session_.session_statistics().deviations, 0u);
}

// Only per-shape limits how many plans are kept.
TEST(SessionKindsGrow, KeepBothPlansWhateverTheLimitOfShapes) {
  SimulatedDevice device;
  Session session(device, {.max_shapes = 1});
  for (int step = 0; step < 3; ++step) {
    train(session, kLayers);
    evaluate(session, kLayers);
  }
  EXPECT_EQ(session.session_statistics().planned_steps, 4u);
}

INSTANTIATE_TEST_SUITE_P(All, SessionKinds,
                         testing::Values(ShapePolicy::kGrow, ShapePolicy::kPerShape,
                                         ShapePolicy::kUpperBound));

}  // namespace
}  // namespace skyline
