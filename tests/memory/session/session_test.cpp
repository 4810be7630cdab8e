#include "memory/session/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "memory/adaptors/checking_adaptors.h"
#include "memory/adaptors/observing_adaptors.h"
#include "memory/device/simulated_device.h"
#include "memory/errors.h"
#include "memory/session/plan.h"
#include "tests/memory/device/refusing_device.h"
#include "tests/memory/units.h"

namespace skyline {
namespace {

using Kind = SessionEvent::Kind;

class SessionTest : public testing::Test {
 protected:
  SimulatedDevice memory_{1024 * kMiB};
  RefusingDevice device_{memory_};
  std::vector<SessionEvent> events_;
  std::unique_ptr<Session> session_;

  Session& make(SessionOptions options = {}) {
    options.listener = [this](const SessionEvent& event) { events_.push_back(event); };
    session_ = std::make_unique<Session>(device_, options);
    return *session_;
  }
  // A chain of activations, each read by the next, freed on the way back.
  static void requests(Allocator& allocator, const std::vector<std::size_t>& sizes) {
    std::vector<Block> blocks;
    for (const std::size_t bytes : sizes) {
      blocks.push_back(allocator.allocate(bytes, {.op = "forward"}));
      allocator.allocate(bytes / 2, {.op = "workspace"});
    }
    while (!blocks.empty()) {
      Block gradient = allocator.allocate(blocks.back().bytes(), {.op = "backward"});
      blocks.pop_back();
    }
  }
  static void step(Allocator& allocator, const std::vector<std::size_t>& sizes, ShapeKey key = 0) {
    allocator.begin_step(key);
    requests(allocator, sizes);
    allocator.end_step();
  }
  std::uint64_t deviations() { return session_->session_statistics().deviations; }
  std::size_t count(Kind kind) {
    return static_cast<std::size_t>(
        std::count_if(events_.begin(), events_.end(),
                      [kind](const SessionEvent& event) { return event.kind == kind; }));
  }
};

const std::vector<std::size_t> kSizes = {3 * kMiB, 5 * kMiB, kMiB, 7 * kMiB};
const std::vector<std::size_t> kOther = {kMiB, 6 * kMiB, 2 * kMiB};

TEST_F(SessionTest, SwitchesAfterTheWarmUpAndSaysWhatThatSaved) {
  Session& session = make({.warmup_steps = 2});
  Block weights = session.allocate(4 * kMiB);
  step(session, {9 * kMiB});
  EXPECT_EQ(session.state(), Session::State::kWarmUp);
  step(session, kSizes);
  EXPECT_TRUE(events_.empty());
  step(session, kSizes);
  EXPECT_EQ(session.state(), Session::State::kPlanned);
  ASSERT_EQ(events_.size(), 1u);
  const SessionEvent& event = events_[0];
  EXPECT_EQ(event.kind, Kind::kSwitched);
  EXPECT_EQ(event.step, 2u);
  EXPECT_EQ(event.blocks, 3 * kSizes.size());
  EXPECT_EQ(event.peak, session.plan().peak);
  EXPECT_EQ(event.lower_bound, lower_bound_bytes(session.trace(), kAlignmentBytes));
  EXPECT_GE(event.peak, event.lower_bound);
  EXPECT_EQ(event.arena_bytes, session.arena_bytes());
  EXPECT_EQ(event.reserved_bytes_after, 4 * kMiB + session.arena_bytes());
  EXPECT_GT(event.reserved_bytes_before, event.reserved_bytes_after);
  EXPECT_EQ(session.trace().tags[0].op, "forward");
}

TEST_F(SessionTest, PlansExactlyWhatTheRecordingAdaptorSees) {
  Session& session = make();
  RecordingAdaptor recording(session);
  step(recording, kSizes);
  const Trace recorded = recording.last_step();
  step(recording, kSizes);
  EXPECT_TRUE(session.trace().same_requests(recorded));
  EXPECT_TRUE(recording.last_step().same_requests(recorded));
  EXPECT_EQ(session.trace().tags, recorded.tags);
}

TEST_F(SessionTest, AHotRunTakesNothingFromDeviceOrPool) {
  Session& session = make();
  Block weights = session.allocate(kMiB);
  step(session, kSizes);
  step(session, kSizes);
  const std::uint64_t pool_calls = session.session_statistics().pool_calls;
  const DeviceStatistics device = device_.statistics();
  for (int i = 0; i < 100; ++i) step(session, kSizes);
  const SessionStatistics figures = session.session_statistics();
  EXPECT_EQ(figures.pool_calls, pool_calls);
  EXPECT_EQ(figures.fallback_requests, 0u);
  EXPECT_EQ(figures.device_allocations_since_switch, 0u);
  EXPECT_EQ(device_.statistics().allocations, device.allocations);
  EXPECT_EQ(device_.statistics().frees, device.frees);
  EXPECT_EQ(figures.planned_requests, 101 * 3 * kSizes.size());
  EXPECT_EQ(figures.planned_steps, 101u);
  EXPECT_EQ(figures.deviations, 0u);
  EXPECT_EQ(figures.replans, 0u);
  EXPECT_EQ(figures.peak_reserved_bytes_since_switch, kMiB + session.arena_bytes());
}

// The very first step after the switch leaves its plan.
TEST_F(SessionTest, FiguresSinceTheSwitchIncludeItsFirstStep) {
  Session& session = make();
  step(session, kSizes);
  step(session, kSizes);
  const std::uint64_t before = device_.statistics().allocations;
  EXPECT_EQ(session.session_statistics().device_allocations_since_switch, 0u);
  std::vector<std::size_t> longer = kSizes;
  longer[0] *= 2;
  step(session, longer);
  const std::size_t most =
      session.arena_bytes() + session.fallback_statistics().peak_reserved_bytes;
  for (int i = 0; i < 5; ++i) step(session, kSizes);
  const SessionStatistics figures = session.session_statistics();
  EXPECT_GT(device_.statistics().allocations, before) << "the fallback pool took memory";
  EXPECT_EQ(figures.device_allocations_since_switch, device_.statistics().allocations - before);
  EXPECT_GE(figures.peak_reserved_bytes_since_switch, most);
}

TEST_F(SessionTest, AProgramThatNeverRepeatsItselfIsPlannedEverMoreSeldom) {
  Session& session = make({.eager_plans = 2});
  constexpr std::size_t kUnit = kMiB / 16;
  for (std::size_t k = 1; k <= 200; ++k) step(session, {k * kUnit});
  // 198 steps deviated: two plans at once, then after 2, 4, 8, 16, 32 and 64 of them.
  EXPECT_EQ(session.session_statistics().replans, 8u);
  for (int calm = 0; calm < 20; ++calm) step(session, {kUnit});
  step(session, {300 * kUnit});
  step(session, {kUnit});
  EXPECT_EQ(session.session_statistics().replans, 9u);
}

TEST_F(SessionTest, GrowMergesWhatItSawAndIsHotAgain) {
  Session& session = make();
  step(session, kSizes);
  step(session, kSizes);
  std::vector<std::size_t> longer = kSizes;
  longer.push_back(11 * kMiB);
  longer[0] *= 2;
  step(session, longer, 7);
  step(session, longer);
  ASSERT_EQ(events_.size(), 3u);
  EXPECT_EQ(events_[1].kind, Kind::kDeviated);
  EXPECT_EQ(events_[1].step, 2u);
  EXPECT_EQ(events_[1].shape_key, 7u);
  EXPECT_EQ(events_[1].deviation->kind, Deviation::kLarger);
  EXPECT_EQ(events_[1].deviation->request, 0u);
  EXPECT_EQ(events_[1].deviation->bytes, longer[0]);
  EXPECT_EQ(events_[1].deviation->planned_bytes, kSizes[0]);
  EXPECT_EQ(events_[1].deviation->tag.op, "forward");
  EXPECT_EQ(events_[2].kind, Kind::kReplanned);
  EXPECT_EQ(events_[2].step, 3u);
  EXPECT_EQ(events_[2].shape_key, 7u);
  EXPECT_EQ(session.fallback_statistics().reserved_bytes, 0u) << "given back for the plan";
  EXPECT_GE(session.session_statistics().peak_fallback_reserved_bytes, longer[0]);
  step(session, longer);
  step(session, kSizes);  // fits: every request and lifetime is at most the merged one
  const std::uint64_t before = deviations();
  for (int i = 0; i < 4; ++i) step(session, i % 2 == 0 ? longer : kSizes);
  session.begin_step(0);
  EXPECT_EQ(deviations(), before);
  session.end_step();
}

TEST_F(SessionTest, AlternatingShapesSettleUnderGrow) {
  Session& session = make();
  for (int i = 0; i < 8; ++i) step(session, i % 2 == 0 ? kSizes : kOther);
  const std::uint64_t before = deviations();
  for (int i = 0; i < 8; ++i) step(session, i % 2 == 0 ? kSizes : kOther);
  EXPECT_EQ(deviations(), before);
}

TEST_F(SessionTest, PerShapePlansEachShapeOnceInOneArena) {
  Session& session = make({.policy = ShapePolicy::kPerShape});
  for (int i = 0; i < 4; ++i) {
    step(session, kSizes, 1);
    const std::uint64_t peak = session.plan().peak;
    step(session, kOther, 2);
    EXPECT_TRUE(i == 0 || session.plan().peak < peak);
  }
  EXPECT_EQ(deviations(), 0u);
  EXPECT_EQ(count(Kind::kSwitched), 1u);
  EXPECT_EQ(count(Kind::kReplanned), 1u) << "the second shape's first plan";
  EXPECT_EQ(session.session_statistics().planned_steps, 6u);
  step(session, kSizes, 1);
  EXPECT_GE(session.arena_bytes(), session.plan().peak) << "the largest peak";
  EXPECT_LT(session.arena_bytes() - session.plan().peak, 2 * kMiB) << "the range's granularity";
}

TEST_F(SessionTest, PerShapeForgetsTheLeastRecentlyUsedShape) {
  Session& session = make({.policy = ShapePolicy::kPerShape, .max_shapes = 2});
  for (const std::uint64_t key : {1, 1, 2, 2, 1, 3, 3}) step(session, {key * kMiB}, key);
  step(session, {kMiB}, 1);
  EXPECT_EQ(session.state(), Session::State::kPlanned);
  step(session, {2 * kMiB}, 2);
  EXPECT_EQ(session.state(), Session::State::kWarmUp) << "2 had to go for 3";
}

TEST_F(SessionTest, AnAdoptedTraceNeedsNoWarmUp) {
  Session& recorder = make();
  step(recorder, kSizes);
  step(recorder, kSizes);
  const Trace longest = recorder.trace();
  SimulatedDevice fresh(1024 * kMiB);
  Session session(fresh, {.policy = ShapePolicy::kUpperBound});
  session.adopt(longest);
  for (int i = 0; i < 3; ++i) step(session, kSizes);
  EXPECT_EQ(session.state(), Session::State::kPlanned);
  EXPECT_EQ(session.session_statistics().planned_steps, 3u);
  EXPECT_EQ(session.session_statistics().deviations, 0u);
  EXPECT_EQ(session.session_statistics().pool_calls, 0u);
  EXPECT_TRUE(session.trace().same_requests(longest));
}

TEST_F(SessionTest, UnderUpperBoundEachStepMayHaveAPlanOfItsOwn) {
  const auto trace_of = [](std::size_t blocks) {
    Trace trace;
    for (std::size_t i = 0; i < blocks; ++i) {
      trace.blocks.push_back({.lower = 0, .upper = 1, .bytes = kMiB});
    }
    return trace;
  };
  Session& session = make({.policy = ShapePolicy::kUpperBound});
  session.adopt(trace_of(8));
  const std::size_t arena_bytes = session.arena_bytes();
  for (const std::size_t blocks : {2, 8, 1, 5, 8}) {
    const Trace trace = trace_of(blocks);
    StepPlan planned = session.plan_for({&trace, 1});  // could be made on any thread
    session.adopt_plan(std::move(planned));
    session.begin_step(0);
    std::vector<Block> held;
    for (std::size_t i = 0; i < blocks; ++i) held.push_back(session.allocate(kMiB));
    held.clear();
    session.end_step();
    EXPECT_EQ(session.plan().peak, blocks * kMiB);
    EXPECT_EQ(session.arena_bytes(), arena_bytes) << "shrinks for no plan";
  }
  const SessionStatistics figures = session.session_statistics();
  EXPECT_EQ(figures.adopted_plans, 5u);
  EXPECT_EQ(figures.replans, 0u);
  EXPECT_EQ(figures.deviations, 0u);
  EXPECT_EQ(figures.device_allocations_since_switch, 0u);
  EXPECT_EQ(count(Kind::kAdopted), 5u);
}

TEST_F(SessionTest, AnEvaluationBetweenStepsTakesNothingBesideTheArena) {
  Session& session = make();
  Block weights = session.allocate(kMiB);
  step(session, kSizes);
  step(session, kSizes);
  for (int i = 0; i < 3; ++i) {
    {
      Interruption evaluation(session);
      requests(session, kSizes);
    }
    step(session, kSizes);
  }
  const SessionStatistics figures = session.session_statistics();
  EXPECT_EQ(figures.peak_reserved_bytes_since_switch, kMiB + session.arena_bytes());
  EXPECT_EQ(figures.device_allocations_since_switch, 0u);
  EXPECT_EQ(figures.deviations, 0u);
  EXPECT_EQ(figures.planned_steps, 4u);
}

TEST_F(SessionTest, AdoptRefusesWhatCannotBe) {
  Session& session = make();
  Trace backwards{
      .blocks = {{.lower = 2, .upper = 3, .bytes = 1}, {.lower = 0, .upper = 1, .bytes = 1}}};
  EXPECT_THROW(session.adopt(backwards), TraceError);
  Trace large{.blocks = {{.lower = 0, .upper = 1, .bytes = 2048 * kMiB}}};
  EXPECT_THROW(session.adopt(large), OutOfMemory);
  session.begin_step(0);
  EXPECT_EQ(session.state(), Session::State::kWarmUp);
  EXPECT_THROW(session.adopt(large), std::logic_error);
  session.end_step();
}

TEST_F(SessionTest, ABlockKeptAcrossStepsIsLeftToThePool) {
  Session& session = make();
  Block loss;
  const auto run = [&] {
    session.begin_step(0);
    requests(session, kSizes);
    loss = session.allocate(4);  // only now frees the previous step's
    session.end_step();
  };
  for (int i = 0; i < 5; ++i) run();
  const SessionStatistics before = session.session_statistics();
  for (int i = 0; i < 5; ++i) run();
  const SessionStatistics after = session.session_statistics();
  EXPECT_EQ(after.deviations, before.deviations);
  EXPECT_EQ(after.planned_requests - before.planned_requests, 5 * 3 * kSizes.size());
  EXPECT_EQ(after.pool_calls - before.pool_calls, 10u);
}

TEST_F(SessionTest, AWarmUpStepThatWasCutIsRecordedAgain) {
  Session& session = make();
  session.begin_step(0);
  session.allocate(kMiB);
  session.abandon_step();
  session.begin_step(0);
  session.allocate(kMiB);
  step(session, kSizes);  // begins in the middle of a step
  EXPECT_EQ(session.state(), Session::State::kWarmUp);
  step(session, kSizes);
  EXPECT_EQ(session.state(), Session::State::kPlanned);
  EXPECT_EQ(session.trace().size(), 3 * kSizes.size());
  EXPECT_EQ(session.session_statistics().abandoned_steps, 2u);
}

TEST_F(SessionTest, AWarmUpStepThatRanOutOfMemoryIsRecordedAgain) {
  Session& session = make();
  device_.refuse_from(3);
  EXPECT_THROW(step(session, kSizes), OutOfMemory);
  session.end_step();  // as if nothing had happened
  device_.serve_all();
  step(session, kSizes);
  EXPECT_EQ(session.state(), Session::State::kWarmUp);
  step(session, kSizes);
  EXPECT_EQ(session.state(), Session::State::kPlanned);
  EXPECT_EQ(session.trace().size(), 3 * kSizes.size());
}

TEST_F(SessionTest, AShortageBetweenStepsIsNoneOfTheStep) {
  Session& session = make();
  step(session, kSizes);
  EXPECT_THROW(session.allocate(4096 * kMiB), OutOfMemory);
  step(session, kSizes);
  EXPECT_EQ(session.state(), Session::State::kPlanned);
}

TEST_F(SessionTest, AShortageThatRepeatsItselfBelongsToTheProgram) {
  Session& session = make();
  for (int i = 0; i < 4; ++i) {
    session.begin_step(0);
    EXPECT_THROW(session.allocate(4096 * kMiB),
                 OutOfMemory);  // as if it tried a fast algorithm first
    requests(session, kSizes);
    session.end_step();
  }
  EXPECT_EQ(session.state(), Session::State::kPlanned);
  EXPECT_EQ(deviations(), 0u);
}

// Fail every call for bytes in turn, through warm-up, switch, deviation and re-planning.
TEST_F(SessionTest, EveryRefusalOfTheDeviceLeavesTheNextStepRight) {
  std::vector<std::size_t> grown = kSizes;
  grown[1] *= 3;
  std::uint64_t call = 0;
  for (bool refused = true; refused; ++call) {
    SCOPED_TRACE(testing::Message() << "call " << call << " for bytes");
    ASSERT_LT(call, 100u);
    Session& session = make();
    CheckingAdaptor checked(session);
    const std::uint64_t refusals = device_.refusals();
    for (int i = 0; i < 5; ++i) {
      if (i == 0) device_.refuse_from(call);
      try {
        step(checked, i < 3 ? kSizes : grown);
      } catch (const OutOfMemory& refusal) {
        EXPECT_EQ(refusal.facts().shortage, Shortage::kInjected);
        device_.serve_all();
        checked.abandon_step();
      }
      if (device_.refusals() > refusals) device_.serve_all();
    }
    refused = device_.refusals() > refusals;
    device_.serve_all();
    for (int i = 0; i < 4; ++i) step(checked, grown);
    const std::uint64_t before = deviations();
    step(checked, grown);
    EXPECT_EQ(deviations(), before);
    EXPECT_EQ(session.state(), Session::State::kPlanned);
    EXPECT_EQ(session.statistics().requested_bytes, 0u);
    session_.reset();
    EXPECT_EQ(memory_.statistics().reserved_bytes, 0u);
  }
  EXPECT_GT(call, 5u);
}

TEST_F(SessionTest, AFailedReplanKeepsTheOldPlanAndTellsWhy) {
  SimulatedDevice small(40 * kMiB);
  Session session(small, {.listener = [this](const SessionEvent& e) { events_.push_back(e); }});
  step(session, {4 * kMiB});
  step(session, {4 * kMiB});
  const std::uint64_t peak = session.plan().peak;
  EXPECT_EQ(peak, 8 * kMiB);
  Block pressure = session.allocate(22 * kMiB);
  step(session, {5 * kMiB});
  Block more = session.allocate(9 * kMiB);  // leaves only what the fallback has cached
  step(session, {4 * kMiB});
  ASSERT_EQ(count(Kind::kReplanFailed), 1u);
  EXPECT_NE(events_.back().problem.find("simulated"), std::string::npos) << events_.back().problem;
  EXPECT_EQ(events_.back().reserved_bytes_after, small.statistics().reserved_bytes);
  EXPECT_EQ(session.plan().peak, peak);
  EXPECT_EQ(session.session_statistics().failed_replans, 1u);
  more.reset();
  step(session, {5 * kMiB});
  step(session, {5 * kMiB});
  EXPECT_EQ(session.plan().peak, 10 * kMiB);
  EXPECT_EQ(session.session_statistics().replans, 1u);
}

TEST_F(SessionTest, TheFallbacksLimitIsCuredByThePlan) {
  Session& session = make({.fallback_limit_bytes = kMiB});
  step(session, kSizes);
  step(session, kSizes);
  std::vector<std::size_t> grown = kSizes;
  for (std::size_t& bytes : grown) bytes += kMiB;
  int refused = 0;
  for (int i = 0; i < 20; ++i) {
    try {
      step(session, grown);
    } catch (const OutOfMemory& refusal) {
      EXPECT_EQ(refusal.facts().shortage, Shortage::kLimit);
      session.abandon_step();
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_LE(refused, 12) << "each step that is cut shows one request more";
  const std::uint64_t before = deviations();
  step(session, grown);
  step(session, grown);
  EXPECT_EQ(deviations(), before);
}

TEST_F(SessionTest, ReservedIsWhatTheDeviceGave) {
  Session& session = make();
  Block weights = session.allocate(3 * kMiB);
  for (int i = 0; i < 3; ++i) step(session, kSizes);
  step(session, {20 * kMiB, kMiB});
  step(session, kSizes);
  const Statistics statistics = session.statistics();
  EXPECT_EQ(statistics.reserved_bytes, device_.statistics().reserved_bytes);
  EXPECT_EQ(statistics.peak_reserved_bytes, device_.statistics().peak_reserved_bytes);
  EXPECT_EQ(statistics.device_allocations, device_.statistics().allocations);
  EXPECT_EQ(statistics.device_frees, device_.statistics().frees);
  EXPECT_EQ(statistics.requested_bytes, 3 * kMiB);
}

}  // namespace
}  // namespace skyline
