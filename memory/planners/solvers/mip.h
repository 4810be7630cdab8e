#pragma once

#include "memory/planners/planner.h"

namespace skyline {

// Solves the mixed-integer program of PGMO section 3.1 with COIN-OR CBC: the paper's reference, for
// small traces. Asks for a plan below that of a simple rule and returns the best known plan, proved
// optimal if CBC proved it. Stops at options.time_limit_seconds, or without one after a fixed
// number of nodes. Keeps fixed offsets; blocks share addresses in their gaps. Runs one solve at a
// time in a process, because CBC keeps state in global variables. Counts in units, the greatest
// common divisor of all sizes. A peak of more than 2^20 of them, where CBC's tolerances would
// exceed half a unit, is counted in larger ones: then bounds are exact to a millionth of the peak,
// and plans are proved optimal only if they meet such a bound. Where a simple rule's plan needs no
// solver, or the solver adds nothing to it, the plan names that rule. Throws std::invalid_argument
// beyond 1000 blocks or 20000 pairs of blocks that meet.
Plan mip(const Trace& trace, const PlanOptions& options);

}  // namespace skyline
