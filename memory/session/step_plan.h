#pragma once

#include <functional>
#include <memory>

#include "memory/plan.h"
#include "memory/session/step_layout.h"
#include "memory/session/step_requests.h"

namespace skyline {

// Plans a trace: planner and options are bound. Called on another thread where plans are made in
// the background; pure, so that it makes no difference.
using StepPlanner = std::function<Plan(const Trace&)>;

// A plan with what it is for, in the form that serves requests.
struct StepPlan {
  StepDemand demand = {};
  CanonicalStep step = {};
  Plan plan = {};
  std::shared_ptr<const StepLayout> layout = {};  // null: to be recorded
};

// A pure function but for the planner's. Throws what the planner throws, and PlanMismatch when its
// plan is for another trace.
StepPlan plan_step(StepDemand demand, const StepPlanner& planner);

}  // namespace skyline
