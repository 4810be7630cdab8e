#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "memory/plan.h"
#include "memory/trace.h"

namespace skyline {

// How who runs the ops of steps wants their blocks placed, besides being apart while they live.
// Following the advice changes only how fast steps run.
class PlanAdvice {
 public:
  virtual ~PlanAdvice() = default;

  // Returns a plan of a step; nothing if any plan will do. Any thread may call it.
  virtual std::optional<Plan> plan(const Trace& trace) const = 0;
  // Plan::planner of the plans above.
  virtual std::string_view planner() const = 0;
  // How many kinds of steps are known by now: with each, plans may change.
  virtual std::size_t learned() const = 0;
  // Returns what a user should hear, each time that it is asked for after something happened.
  virtual std::optional<std::string> take_news() = 0;
};

}  // namespace skyline
