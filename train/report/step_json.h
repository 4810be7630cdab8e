#pragma once

#include <nlohmann/json_fwd.hpp>

#include "memory/plan.h"

namespace skyline {

// Returns a step and its plan for script/step.js: blocks, strings, plan, phases, categories. Throws
// PlanMismatch if the plan does not have one offset a block.
nlohmann::ordered_json step_json(const Trace& trace, const Plan& plan);

}  // namespace skyline
