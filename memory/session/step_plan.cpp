#include "memory/session/step_plan.h"

#include <utility>

namespace skyline {

StepPlan plan_step(StepDemand demand, const StepPlanner& planner) {
  StepPlan planned{.demand = std::move(demand)};
  planned.step = canonical_step(planned.demand.requests);
  planned.plan = planner(planned.step.trace);
  planned.layout =
      std::make_shared<const StepLayout>(make_layout(planned.step, planned.plan, planned.demand));
  return planned;
}

}  // namespace skyline
