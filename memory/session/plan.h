// The plan of a step: from a recording, here or on a second thread, to the tables that an arena
// reads.
#pragma once

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <utility>
#include <vector>

#include "memory/allocator.h"
#include "memory/plan.h"
#include "memory/planners/planner.h"
#include "memory/session/recording.h"
#include "memory/session/tag_matcher.h"

namespace skyline {

// The facts with which the arena serves request k.
struct StepSlot {
  std::uint64_t offset = 0;
  std::uint64_t bytes_limit = 0;      // serves requests of fewer bytes; 0: not planned
  std::uint32_t released_before = 0;  // planned releases that come before this request
  std::uint32_t rank = 0;             // index of its own release among the planned ones

  bool planned() const noexcept { return bytes_limit > 0; }
  std::uint64_t bytes() const noexcept { return bytes_limit - 1; }  // rounded; of planned slots
};

// The form of a plan that serves requests: flat tables in the order of the requests.
struct StepLayout {
  std::vector<StepSlot> slots = {};                // one for each request
  std::vector<RequestIndex> request_of_rank = {};  // the planned releases in order
  std::uint64_t peak_bytes = 0;
  std::uint64_t alignment_bytes = kAlignmentBytes;  // of offsets and sizes
  std::shared_ptr<const TagMatcher> tags = {};      // null: requests do not match by tag
  std::vector<std::uint64_t> sizes = {};            // as requested; empty: not by size

  bool by_position() const noexcept { return !tags && sizes.empty(); }
};

// `recording` says how requests match, and has the tags; by default they match by position.
// Throws PlanMismatch unless the plan has one offset for each block of the step's trace.
StepLayout make_layout(const CanonicalStep& step, const Plan& plan,
                       const StepRecording& recording = {});

// A recording with its plan and the layout that serves it.
struct StepPlan {
  StepRecording recording = {};
  CanonicalStep step = {};
  Plan plan = {};
  std::shared_ptr<const StepLayout> layout = {};  // null: the step is still to be recorded
};

// Pure if the planner is. Throws what the planner throws, and PlanMismatch when its plan does not
// fit the trace.
inline StepPlan plan_step(StepRecording recording, const StepPlanner& planner) {
  StepPlan planned{.recording = std::move(recording)};
  planned.step = canonical_step(planned.recording.requests);
  planned.plan = planner(planned.step.trace);
  planned.layout = std::make_shared<const StepLayout>(
      make_layout(planned.step, planned.plan, planned.recording));
  return planned;
}

// Makes one plan at a time on a second thread. Thread rule: one thread drives it; the planner
// thread shares nothing with it. The destructor waits for the plan.
class BackgroundPlanner {
 public:
  // The shape that a plan is for.
  struct Order {
    ShapeKey key = 0;
    std::uint64_t shape = 0;  // its identity
  };

  // True from begin() to take().
  bool busy() const noexcept { return plan_.valid(); }
  // True when take() will not wait.
  bool finished() const {
    return busy() && plan_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  const Order& order() const noexcept { return order_; }

  // While not busy. Throws std::system_error when there is no thread; then it is not busy.
  void begin(const Order& order, StepRecording recording, StepPlanner planner) {
    plan_ = std::async(std::launch::async, plan_step, std::move(recording), std::move(planner));
    order_ = order;
  }
  // While busy. Throws what plan_step() threw; it is not busy afterwards.
  StepPlan take() { return plan_.get(); }
  // Waits until finished; returns at once when not busy.
  void wait() const {
    if (busy()) plan_.wait();
  }

 private:
  Order order_;
  std::future<StepPlan> plan_;
};

}  // namespace skyline
