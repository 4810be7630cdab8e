#pragma once

#include "memory/planners/planner.h"

namespace skyline {

// PGMO section 3.1 as difference logic, x_i + w_i ≤ x_j or x_j + w_j ≤ x_i for each pair that
// meets, given to Z3 under a bound on the peak: first the lower bound, then halving what is left
// between what is proved and the best plan. Returns the best known plan, proved optimal if no
// smaller bound can be satisfied. Stops at options.time_limit_seconds, without one after a fixed
// amount of Z3's work. Keeps fixed offsets; blocks share addresses in their gaps. For small traces.
// Throws std::invalid_argument beyond 1000 blocks or 20000 pairs of blocks that meet.
Plan smt(const Trace& trace, const PlanOptions& options);

}  // namespace skyline
