#pragma once

#include "memory/planners/planner.h"

namespace skyline {

// Runs rules and searches under one budget, the cheapest first, and keeps the best plan. Stops at
// the lower bound or within options.capacity. The plan names the planner that found it.
//
// Order: best-fit by lifetime, area and size; greedy by size and by lifetime; program order; exact,
// restarts, hill-climb. Above 2^10 blocks restarts come earlier. Above 2^17 blocks planners that
// search for holes are skipped. With fixed offsets only planners that keep them run. `mip` and
// `smt` are left out: `exact` decides whatever they decide, sooner. So are the planners of
// regions.h, which are there to be compared with.
//
// The plan is never above that of a rule that was run to its end.
Plan portfolio(const Trace& trace, const PlanOptions& options);

}  // namespace skyline
