#include "memory/session/step_plan.h"

#include <utility>

namespace skyline {

StepPlan plan_step(StepRecording recording, const StepPlanner& planner) {
  StepPlan planned{.recording = std::move(recording)};
  planned.step = canonical_step(planned.recording.requests);
  planned.plan = planner(planned.step.trace);
  planned.layout = std::make_shared<const StepLayout>(
      make_layout(planned.step, planned.plan, planned.recording));
  return planned;
}

}  // namespace skyline
