#pragma once

#include <cstdint>
#include <future>

#include "memory/allocator.h"
#include "memory/session/step_plan.h"

namespace skyline {

// Makes one plan at a time on a thread of its own. Thread rule: driven by one thread; the planner
// runs on the other and shares nothing with it. The destructor waits for the plan in work.
class BackgroundPlanner {
 public:
  // What a plan is for.
  struct Order {
    ShapeKey key = 0;
    std::uint64_t shape = 0;  // tells a shape from an earlier one of the same key
  };

  // Begun and not yet taken.
  bool busy() const noexcept { return plan_.valid(); }
  // Busy, and take() will not wait.
  bool finished() const;
  const Order& order() const noexcept { return order_; }

  // While not busy. Throws std::system_error when no thread can be had, and is not busy then.
  void begin(const Order& order, StepDemand demand, StepPlanner planner);
  // While busy. Throws what plan_step threw. Not busy then.
  StepPlan take() { return plan_.get(); }
  // Returns when finished, or at once when not busy.
  void wait() const;

 private:
  Order order_;
  std::future<StepPlan> plan_;
};

}  // namespace skyline
