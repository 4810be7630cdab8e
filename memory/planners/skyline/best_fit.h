#pragma once

#include "memory/planners/planner.h"

namespace skyline {

// PGMO's heuristic (section 3.2) by longest lifetime, and the same by size and by bytes × ticks
// (Burke et al. 2004). Equal keys: the larger block, then the longer-lived, then the earlier
// request. `best_fit` fills options.log. About O(n log n): see SkylinePacker.
Plan best_fit(const Trace& trace, const PlanOptions& options);
Plan best_fit_by_size(const Trace& trace, const PlanOptions& options);
Plan best_fit_by_area(const Trace& trace, const PlanOptions& options);

}  // namespace skyline
