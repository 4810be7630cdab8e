#pragma once

#include "memory/solvers/solvers.h"

namespace skyline {

// Plans with any planner, the solvers included.
inline Plan plan_with(const Trace& trace, std::string_view planner,
                      const PlanOptions& options = {}) {
  return plan(trace, planner, options, all_planners());
}

}  // namespace skyline
