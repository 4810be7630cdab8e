// Adopted plans, what a session forgets and returns for them, and options that it refuses.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "memory/device/simulated_device.h"
#include "memory/session/plan.h"
#include "memory/session/session.h"
#include "tests/memory/units.h"

namespace skyline {
namespace {

using Kind = SessionEvent::Kind;
using Sizes = std::vector<std::size_t>;

class SessionAdopt : public testing::Test {
 protected:
  SimulatedDevice device_;
  std::vector<SessionEvent> events_;

  SessionOptions telling(SessionOptions options = {}) {
    options.listener = [this](const SessionEvent& event) { events_.push_back(event); };
    return options;
  }
  // Returns a trace of blocks that are alive together.
  static Trace trace_of(const Sizes& sizes) {
    Trace trace;
    for (const std::size_t bytes : sizes) trace.blocks.push_back({0, 1, bytes});
    return trace;
  }
  static void step(Session& session, const Sizes& sizes, ShapeKey key = 0) {
    session.begin_step(key);
    {
      std::vector<Block> blocks;
      for (const std::size_t bytes : sizes) blocks.push_back(session.allocate(bytes));
    }
    session.end_step();
  }
};

TEST_F(SessionAdopt, LearnsFromTheStepBeforeWhileItsPlanIsThere) {
  Session session(device_, telling());
  session.adopt(trace_of({kMiB, kMiB, kMiB}));
  step(session, {kMiB, kMiB, 3 * kMiB});
  session.adopt(trace_of({kMiB}));
  step(session, {kMiB});
  step(session, {kMiB});
  std::vector<Kind> kinds;
  for (const SessionEvent& event : events_) kinds.push_back(event.kind);
  EXPECT_EQ(kinds,
            (std::vector{Kind::kSwitched, Kind::kDeviated, Kind::kReplanned, Kind::kAdopted}));
  EXPECT_EQ(session.plan().peak, kMiB);
}

TEST_F(SessionAdopt, WhatOutlivedTheStepBeforeIsSeen) {
  Session session(device_, telling());
  session.adopt(trace_of({kMiB}));
  session.begin_step(0);
  Block kept = session.allocate(kMiB);
  session.end_step();
  session.adopt(trace_of({kMiB}));
  ASSERT_EQ(session.session_statistics().deviating_steps, 1u);
  EXPECT_EQ(events_[1].deviation->kind, Deviation::kOutlivesStep);
}

TEST_F(SessionAdopt, CountsThePlannersTime) {
  Session session(device_);
  for (const double seconds : {2.0, 3.0}) {
    const Trace trace = trace_of({kMiB});
    StepPlan planned = session.plan_for({&trace, 1});
    planned.plan.seconds = seconds;
    session.adopt_plan(std::move(planned));
  }
  EXPECT_EQ(session.session_statistics().planning_seconds, 5.0);
  EXPECT_EQ(session.session_statistics().last_planning_seconds, 3.0);
}

TEST_F(SessionAdopt, ByTagFromTheBeginningAStepMayLeaveRequestsOut) {
  Session session(device_, {.matching = Matching::kByTag});
  Trace trace = trace_of({kMiB, 2 * kMiB});
  trace.tags = {{.op = "small"}, {.op = "large"}};
  session.adopt(trace);
  session.begin_step(0);
  session.allocate(2 * kMiB, {.op = "large"}).reset();
  session.end_step();
  session.begin_step(0);
  EXPECT_EQ(session.session_statistics().deviations, 0u);
  EXPECT_EQ(session.session_statistics().fallback_requests, 0u);
}

TEST_F(SessionAdopt, TheArenaHoldsTheLargestPlanThatIsLeft) {
  Session session(device_, {.policy = ShapePolicy::kPerShape});
  session.adopt(trace_of({8 * kMiB}), 1);
  session.adopt(trace_of({2 * kMiB}), 2);
  EXPECT_EQ(session.arena_bytes(), 8 * kMiB);
  session.adopt(trace_of({3 * kMiB}), 1);
  EXPECT_EQ(session.arena_bytes(), 3 * kMiB);
}

TEST_F(SessionAdopt, StepsOfAnotherOrderBeforeTellNothingOfThoseToCome) {
  Session session(device_);
  session.adopt(trace_of({kMiB}));
  step(session, {kMiB, kMiB});
  session.adopt(trace_of({kMiB, kMiB, kMiB}));
  step(session, {kMiB, kMiB, kMiB, kMiB});
  step(session, {kMiB, kMiB, kMiB, kMiB});
  EXPECT_EQ(session.plan().peak, 4 * kMiB) << "merged by position, as the first of its kind";
  session.begin_step(0);
  EXPECT_EQ(session.session_statistics().deviating_steps, 2u);
}

TEST_F(SessionAdopt, ThePlanMovesOffABlockThatAnEvaluationKeepsAndBack) {
  Session session(device_);
  session.adopt(trace_of({4 * kMiB, 4 * kMiB}));
  const std::size_t arena_bytes = session.arena_bytes();
  Block kept;
  {
    Interruption evaluation(session);
    kept = session.allocate(kMiB);
  }
  step(session, {4 * kMiB, 4 * kMiB});
  for (int i = 0; i < 3; ++i) step(session, {4 * kMiB, 4 * kMiB});
  EXPECT_EQ(session.session_statistics().fallback_requests, 1u) << "of the first step";
  EXPECT_EQ(session.session_statistics().deviating_steps, 1u);
  EXPECT_EQ(session.arena_bytes(), arena_bytes + kMiB);
  kept.reset();
  step(session, {4 * kMiB, 4 * kMiB});
  EXPECT_EQ(session.arena_bytes(), arena_bytes);
}

TEST_F(SessionAdopt, ABlockThatLivesTooLongIsNamedAsThePlanNamesIt) {
  Session session(device_, telling());
  session.adopt({.blocks = {{0, 1, kMiB}, {1, 2, kMiB}, {2, 3, kMiB}},
                 .tags = {{.op = "conv2d"}, {.op = "relu"}, {.op = "linear"}}});
  session.begin_step(0);
  Block first = session.allocate(kMiB, {.op = "conv2d"});
  Block second = session.allocate(kMiB, {.op = "relu"});
  first.reset();
  second.reset();
  session.end_step();
  session.begin_step(0);
  ASSERT_EQ(events_.size(), 3u);
  ASSERT_TRUE(events_[1].deviation);
  EXPECT_EQ(events_[1].deviation->kind, Deviation::kOverdue);
  EXPECT_EQ(events_[1].deviation->tag.op, "conv2d");
  EXPECT_EQ(events_[1].deviation->planned_bytes, kMiB);
  EXPECT_EQ(events_[1].step, 0u);
  EXPECT_EQ(events_[2].step, 1u);
}

TEST_F(SessionAdopt, TheLongestStallIsNotTheLast) {
  int plans = 0;
  Session session(device_, {.step_planner = [&plans](const Trace& trace) {
                    if (++plans == 2) std::this_thread::sleep_for(std::chrono::milliseconds(20));
                    return plan(trace, "best-fit");
                  }});
  step(session, {kMiB});
  step(session, {2 * kMiB});
  EXPECT_EQ(session.session_statistics().stalled_seconds, 0.0) << "before the switch";
  step(session, {3 * kMiB});
  step(session, {3 * kMiB});
  EXPECT_EQ(plans, 3);
  EXPECT_GE(session.session_statistics().longest_stall_seconds, 0.02);
}

TEST_F(SessionAdopt, RefusesOptionsThatMakeNoSense) {
  const auto make = [this](const SessionOptions& options) { Session(device_, options); };
  EXPECT_THROW(make({.warmup_steps = 0}), std::invalid_argument);
  EXPECT_THROW(make({.planner = "worst-fit"}), std::invalid_argument);
  EXPECT_THROW(make({.max_shapes = 0}), std::invalid_argument);
  EXPECT_THROW(make({.plan = {.alignment = 256}}), std::invalid_argument);
}

}  // namespace
}  // namespace skyline
