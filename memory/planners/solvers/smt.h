#pragma once

#include "memory/planners/planner.h"

namespace skyline {

// Solves PGMO section 3.1 in difference logic with Z3: x_i + w_i ≤ x_j or x_j + w_j ≤ x_i for each
// pair that meets, under a bound on the peak. Tries the lower bound first, then halves the range
// between the proved bound and the best plan. Returns the best known plan, proved optimal if no
// smaller bound can be satisfied. Stops at options.time_limit_seconds, or without one after a fixed
// amount of Z3's work. Names the simple rule that made the plan if Z3 adds nothing. Keeps fixed
// offsets; blocks share addresses in their gaps. For small traces: throws std::invalid_argument
// beyond 1000 blocks or 20000 pairs of blocks that meet.
Plan smt(const Trace& trace, const PlanOptions& options);

}  // namespace skyline
