// Sessions that plan on a second thread.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "memory/adaptors/checking_adaptors.h"
#include "memory/device/cpu_device.h"
#include "memory/device/simulated_device.h"
#include "memory/session/plan.h"
#include "memory/session/session.h"
#include "memory/session/tag_matcher.h"
#include "tests/memory/device/refusing_device.h"
#include "tests/memory/session/random_program.h"
#include "tests/memory/units.h"

namespace skyline {
namespace {

using Kind = SessionEvent::Kind;

// A planner that waits for permission, and counts.
class HeldPlanner {
 public:
  Plan operator()(const Trace& trace) {
    std::unique_lock lock(mutex_);
    most_at_once_ = std::max(most_at_once_, ++running_);
    ++begun_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !held_; });
    --running_;
    if (fails_) throw std::runtime_error("no plan today");
    lock.unlock();
    return plan(trace, "best-fit");
  }
  void hold() { set(held_, true); }
  void let_go() { set(held_, false); }
  void fail(bool fails) { set(fails_, fails); }
  int begun() const {
    const std::lock_guard lock(mutex_);
    return begun_;
  }
  int most_at_once() const {
    const std::lock_guard lock(mutex_);
    return most_at_once_;
  }

 private:
  void set(bool& what, bool value) {
    const std::lock_guard lock(mutex_);
    what = value;
    changed_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false, fails_ = false;
  int running_ = 0, most_at_once_ = 0, begun_ = 0;
};

class SessionBackground : public testing::Test {
 protected:
  SimulatedDevice memory_{256 * kMiB};
  RefusingDevice device_{memory_};
  HeldPlanner planner_;
  std::vector<SessionEvent> events_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<CheckingAdaptor> checked_;

  ~SessionBackground() override { planner_.let_go(); }

  Session& make(SessionOptions options = {}) {
    options.background = true;
    options.step_planner = std::ref(planner_);
    options.listener = [this](const SessionEvent& event) { events_.push_back(event); };
    session_ = std::make_unique<Session>(device_, options);
    checked_ = std::make_unique<CheckingAdaptor>(*session_);
    return *session_;
  }
  void step(const std::vector<std::size_t>& sizes, ShapeKey key = 0) {
    checked_->begin_step(key);
    {
      std::vector<Block> blocks;
      for (const std::size_t bytes : sizes) blocks.push_back(checked_->allocate(bytes));
    }
    checked_->end_step();
  }
  // Switches, then deviates while the planner waits: the next step finds it busy.
  Session& deviated(SessionOptions options = {}) {
    Session& session = make(std::move(options));
    step({kMiB, kMiB});
    step({kMiB, kMiB});
    planner_.hold();
    step({2 * kMiB, kMiB});
    return session;
  }
  SessionStatistics figures() { return session_->session_statistics(); }
};

TEST_F(SessionBackground, StepsGoOnWhileThePlanIsInWork) {
  Session& session = deviated();
  for (int i = 0; i < 20; ++i) step({2 * kMiB, kMiB});
  EXPECT_TRUE(session.planning());
  EXPECT_EQ(figures().replans, 0u);
  EXPECT_EQ(figures().deviating_steps, 20u) << "of the last one nothing is known yet";
  EXPECT_EQ(figures().fallback_requests, 21u);
  EXPECT_EQ(session.plan().peak, 2 * kMiB) << "the plan of before serves";

  planner_.let_go();
  session.wait_for_plan();
  step({2 * kMiB, kMiB});
  EXPECT_EQ(session.plan().peak, 3 * kMiB);
  EXPECT_FALSE(session.planning());
  EXPECT_EQ(figures().replans, 1u);
  EXPECT_EQ(figures().background_plans, 1u);
  EXPECT_TRUE(events_.back().in_background);
  const std::uint64_t deviations = figures().deviations;
  for (int i = 0; i < 5; ++i) step({2 * kMiB, kMiB});
  EXPECT_EQ(figures().deviations, deviations);
  EXPECT_EQ(planner_.begun(), 2) << "the switch and one more";
  EXPECT_GT(figures().stalled_seconds, 0.0);
  EXPECT_GE(figures().stalled_seconds, figures().longest_stall_seconds);
}

TEST_F(SessionBackground, IsTheDefaultWhereStepsTakeTimeAndThereIsASecondCore) {
  CpuDevice cpu(64 * kMiB);
  for (Device* device : {static_cast<Device*>(&cpu), static_cast<Device*>(&memory_)}) {
    Session session(*device);
    for (const std::size_t bytes : {kMiB, kMiB, 2 * kMiB, 2 * kMiB, 2 * kMiB}) {
      session.begin_step(0);
      session.allocate(bytes).reset();
      session.end_step();
      session.wait_for_plan();
    }
    const bool background = device->has_memory() && std::thread::hardware_concurrency() > 1;
    EXPECT_EQ(session.session_statistics().replans, 1u);
    EXPECT_EQ(session.session_statistics().background_plans, background ? 1u : 0u);
  }
}

TEST_F(SessionBackground, MakesOnePlanAtATimeForWhatWasRecordedLast) {
  Session& session = deviated();
  step({3 * kMiB, kMiB});
  step({4 * kMiB, kMiB, kMiB});
  step({kMiB, 5 * kMiB});
  EXPECT_EQ(figures().background_plans, 0u);
  planner_.let_go();
  session.wait_for_plan();
  step({kMiB});  // installs the first plan, and starts one for everything since
  EXPECT_EQ(session.plan().peak, 3 * kMiB);
  session.wait_for_plan();
  step({4 * kMiB, 5 * kMiB, kMiB});
  EXPECT_EQ(session.plan().peak, 10 * kMiB);
  step({4 * kMiB, 5 * kMiB, kMiB});
  EXPECT_EQ(figures().replans, 2u);
  EXPECT_EQ(planner_.begun(), 3);
  EXPECT_EQ(planner_.most_at_once(), 1);
}

TEST_F(SessionBackground, TheStepThatTakesThePlanThrowsWhatThePlannerThrew) {
  Session& session = deviated();
  step({kMiB, kMiB});
  planner_.fail(true);
  planner_.let_go();
  session.wait_for_plan();
  EXPECT_THROW(session.begin_step(0), std::runtime_error);
  EXPECT_FALSE(session.planning());
  planner_.fail(false);
  step({kMiB, kMiB});
  EXPECT_EQ(session.plan().peak, 2 * kMiB) << "the plan of before";
  step({2 * kMiB, kMiB});
  step({2 * kMiB, kMiB});
  session.wait_for_plan();
  step({2 * kMiB, kMiB});
  EXPECT_EQ(session.plan().peak, 3 * kMiB);
}

TEST_F(SessionBackground, AnInvalidPlanIsRefused) {
  SessionOptions options;
  options.step_planner = [](const Trace&) { return Plan{}; };
  Session session(device_, options);
  session.begin_step(0);
  session.allocate(kMiB);
  session.end_step();
  EXPECT_THROW(session.begin_step(0), std::logic_error);
}

TEST_F(SessionBackground, DiesOnlyAfterThePlanInWork) {
  deviated();
  step({kMiB});
  ASSERT_TRUE(session_->planning());
  std::thread other([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    planner_.let_go();
  });
  session_.reset();
  EXPECT_EQ(planner_.begun(), 2);
  other.join();
}

TEST_F(SessionBackground, AnAdoptedTraceTakesThePlaceOfThePlanInWork) {
  Session& session = deviated();
  step({kMiB});
  planner_.let_go();
  // Timing decides whether the plan was installed before, but not what serves.
  session.adopt({.blocks = {{.lower = 0, .upper = 2, .bytes = 7 * kMiB}}});
  session.wait_for_plan();
  step({kMiB});
  EXPECT_EQ(session.plan().peak, 7 * kMiB);
  EXPECT_EQ(figures().adopted_plans, 1u);
  EXPECT_EQ(figures().discarded_plans + figures().replans, 1u);
}

TEST_F(SessionBackground, AnAdoptedPlanIsNotReplacedByTheOneInWork) {
  Session& session = deviated();
  step({kMiB});
  const Trace trace{.blocks = {{.lower = 0, .upper = 2, .bytes = 7 * kMiB}}};
  session.adopt_plan(
      plan_step(joined({requests_of(trace)}), [](const Trace& t) { return plan(t, "best-fit"); }));
  planner_.let_go();
  session.wait_for_plan();
  for (int i = 0; i < 3; ++i) {
    step({kMiB});
    session.wait_for_plan();
  }
  EXPECT_EQ(session.plan().peak, 7 * kMiB);
  EXPECT_EQ(figures().discarded_plans, 1u);
  EXPECT_EQ(figures().replans, 0u);
  EXPECT_EQ(planner_.begun(), 2);
}

TEST_F(SessionBackground, APlanForAShapeThatIsGoneIsDiscarded) {
  Session& session = make({.policy = ShapePolicy::kPerShape, .max_shapes = 2});
  step({kMiB}, 1);
  step({kMiB}, 1);  // the switch
  planner_.hold();
  step({kMiB}, 2);
  step({kMiB}, 3);  // begins to plan 2, then forgets 1
  step({kMiB}, 4);  // forgets 2
  EXPECT_TRUE(session.planning());
  EXPECT_EQ(session.state(), Session::State::kWarmUp);
  planner_.let_go();
  session.wait_for_plan();
  step({kMiB}, 4);
  EXPECT_EQ(figures().discarded_plans, 1u);
  session.wait_for_plan();
  step({kMiB}, 4);
  EXPECT_EQ(session.state(), Session::State::kPlanned) << "the shape recorded last came first";
  session.wait_for_plan();
  step({kMiB}, 3);
  EXPECT_EQ(session.state(), Session::State::kPlanned);
}

// A plan for a shape that was evicted and came back under its key is discarded, too.
TEST_F(SessionBackground, APlanForAnEarlierShapeOfTheKeyIsDiscarded) {
  Session& session = make({.policy = ShapePolicy::kPerShape, .max_shapes = 2});
  step({kMiB}, 1);
  step({kMiB}, 1);  // the switch
  planner_.hold();
  step({8 * kMiB}, 2);
  step({kMiB}, 3);  // begins to plan 2, then forgets 1
  step({kMiB}, 4);  // forgets 2
  step({2 * kMiB}, 2);
  planner_.let_go();
  session.wait_for_plan();
  step({2 * kMiB}, 2);
  EXPECT_EQ(figures().discarded_plans, 1u);
  EXPECT_EQ(session.state(), Session::State::kWarmUp);
  EXPECT_EQ(figures().replans, 0u);
}

TEST_F(SessionBackground, AnEventNamesTheShapeThatWasPlanned) {
  Session& session = make({.policy = ShapePolicy::kPerShape});
  step({kMiB}, 1);
  step({kMiB}, 1);
  step({kMiB}, 2);
  step({kMiB}, 1);  // begins to plan 2
  step({kMiB}, 1);
  session.wait_for_plan();
  step({kMiB}, 1);
  EXPECT_EQ(events_.back().kind, Kind::kReplanned);
  EXPECT_EQ(events_.back().shape_key, 2u);
}

// Deviations while the plan by tag is being made cause no other plan.
TEST_F(SessionBackground, StepsOfOtherLengthsArePlannedByTagOnce) {
  Session& session = make();
  const auto loop = [&](int turns) {
    checked_->begin_step(0);
    for (int i = 0; i < turns; ++i) checked_->allocate(kMiB, {.op = "turn"}).reset();
    checked_->allocate(3 * kMiB, {.op = "loss"}).reset();
    checked_->end_step();
  };
  for (const int turns : {4, 4, 2, 2}) loop(turns);  // the first of two is merged by position
  session.wait_for_plan();
  planner_.hold();
  loop(3);
  for (const int turns : {1, 2, 4}) loop(turns);
  planner_.let_go();
  session.wait_for_plan();
  loop(3);
  const int plans = planner_.begun();
  const std::uint64_t deviations = figures().deviations;
  for (const int turns : {1, 2, 3, 4}) loop(turns);
  session.wait_for_plan();
  EXPECT_EQ(figures().deviations, deviations);
  EXPECT_EQ(planner_.begun(), plans);
  EXPECT_EQ(session.plan().peak, 3 * kMiB);
}

TEST_F(SessionBackground, StepsThatAreCutTellThePlannerNothing) {
  Session& session = deviated();
  for (int i = 0; i < 3; ++i) {
    session.begin_step(0);
    Block block = session.allocate(2 * kMiB);
    session.abandon_step();
  }
  EXPECT_EQ(figures().abandoned_steps, 2u);
  planner_.let_go();
  session.wait_for_plan();
  step({2 * kMiB, kMiB});
  session.wait_for_plan();
  step({2 * kMiB, kMiB});
  const std::uint64_t deviations = figures().deviations;
  step({2 * kMiB, kMiB});
  step({2 * kMiB, kMiB});
  EXPECT_EQ(figures().deviations, deviations);
}

TEST_F(SessionBackground, APlanThatTheDeviceCannotHoldLeavesTheOneOfBefore) {
  Session& session = deviated();
  step({2 * kMiB, kMiB});
  Block pressure = session.allocate(254 * kMiB);
  planner_.let_go();
  session.wait_for_plan();
  session.begin_step(0);
  session.end_step();
  EXPECT_EQ(events_.back().kind, Kind::kReplanFailed);
  EXPECT_EQ(session.plan().peak, 2 * kMiB);
  pressure.reset();
  step({2 * kMiB, kMiB});
  step({2 * kMiB, kMiB});
  session.wait_for_plan();
  step({2 * kMiB, kMiB});
  EXPECT_EQ(session.plan().peak, 3 * kMiB);
}

// Plans arrive at any time; the contents of blocks are verified when they are freed.
TEST_F(SessionBackground, RandomProgramsNeverShareAByteWheneverPlansArrive) {
  std::uint64_t plans = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    CpuDevice device(64 * kMiB);
    SessionOptions options;
    options.background = true;
    options.policy = seed % 2 == 0 ? ShapePolicy::kGrow : ShapePolicy::kPerShape;
    options.max_shapes = 1 + seed % 3;
    options.step_planner = [seed](const Trace& trace) {
      for (std::uint64_t i = 0; i < seed % 5; ++i) std::this_thread::yield();
      return plan(trace, "best-fit");
    };
    Session session(device, options);
    CheckingAdaptor checked(session);
    RandomProgram program(checked, seed, /*has_memory=*/true, 1 + seed % 4);
    const Mischief mischief{.more = 5, .fewer = 5, .larger = 10, .longer = 5, .cut = 5};
    for (int step = 0; step < 30; ++step) {
      if (program.chance(30)) session.wait_for_plan();
      program.run_step(program.random_key(), mischief);
    }
    program.free_all();
    plans += session.session_statistics().background_plans;
  }
  EXPECT_GT(plans, 100u);
}

}  // namespace
}  // namespace skyline
