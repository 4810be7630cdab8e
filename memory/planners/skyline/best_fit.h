#pragma once

#include "memory/planners/planner.h"

namespace skyline {

// PGMO's heuristic (section 3.2): longest lifetime first, or largest size, or most bytes × ticks
// first (Burke et al. 2004). Ties: the larger block, then the longer-lived, then the earlier
// request. Fill options.log. About O(n log n), see SkylinePacker.
Plan best_fit(const Trace& trace, const PlanOptions& options);
Plan best_fit_by_size(const Trace& trace, const PlanOptions& options);
Plan best_fit_by_area(const Trace& trace, const PlanOptions& options);

}  // namespace skyline
