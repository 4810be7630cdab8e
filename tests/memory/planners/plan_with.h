#pragma once

#include "memory/planners/registry.h"
#ifdef SKYLINE_SOLVERS
#include "memory/solvers/solvers.h"
#endif

namespace skyline {

#ifndef SKYLINE_SOLVERS
inline PlannerTable all_planners() { return planners(); }  // of this build
#endif

// Plans with any planner, the solvers included where they are built.
inline Plan plan_with(const Trace& trace, std::string_view planner,
                      const PlanOptions& options = {}) {
  return plan(trace, planner, options, all_planners());
}

}  // namespace skyline
