#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "memory/plan.h"
#include "memory/session/recording.h"
#include "memory/session/step_layout.h"

namespace skyline {

// Plans a trace with a planner and its options. Must be pure: the background thread calls it, too.
using StepPlanner = std::function<Plan(const Trace&)>;

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

}  // namespace skyline
