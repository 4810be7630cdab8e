#pragma once

#include "memory/planner.h"

namespace skyline {

// All planners under one budget, the cheapest first; keeps the best and stops at the lower bound,
// or within options.capacity. The plan names the planner that found it. Never above any simple
// rule, except beyond 2^17 blocks, where the quadratic greedy planners are left out, and when the
// time limit cuts it short.
Plan portfolio(const Trace& trace, const PlanOptions& options);

}  // namespace skyline
