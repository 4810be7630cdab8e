#pragma once

#include "memory/planners/planner.h"

namespace skyline {

// Solves the mixed-integer program of PGMO section 3.1 with COIN-OR CBC: the paper's reference, for
// small traces. Asks for a plan below that of a simple rule and returns the best known plan, proved
// optimal if CBC proved it. Stops at options.time_limit_seconds, or without one after a fixed
// number of nodes. Keeps fixed offsets; blocks share addresses in their gaps. Runs one solve at a
// time in a process, because CBC keeps state in global variables. Throws std::invalid_argument
// beyond 1000 blocks, 20000 pairs of blocks that meet, or a peak of 2^20 units (greatest common
// divisor of all sizes): beyond that CBC's tolerances exceed half a unit.
Plan mip(const Trace& trace, const PlanOptions& options);

}  // namespace skyline
