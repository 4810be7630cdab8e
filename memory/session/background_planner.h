#pragma once

#include <chrono>
#include <cstdint>
#include <future>
#include <utility>

#include "memory/allocator.h"
#include "memory/session/step_plan.h"

namespace skyline {

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
