#pragma once

#include "memory/planners/planner.h"

namespace skyline {

// The rules and searches under one budget, the cheapest first; keeps the best and stops at the
// lower bound, or within options.capacity. The plan names the planner that found it. Never above
// any simple rule, except beyond 2^17 blocks, where those that look for gaps are left out, and when
// the time limit cuts it short. Traces with fixed offsets go to the planners that keep them.
// In turn: best-fit by lifetime, area and size; greedy by size and by lifetime; program order; then
// exact, restarts and hill-climb (above 2^10 blocks, restarts first). `mip` and `smt` decide
// nothing that `exact` does not decide sooner, and are left out.
Plan portfolio(const Trace& trace, const PlanOptions& options);

}  // namespace skyline
