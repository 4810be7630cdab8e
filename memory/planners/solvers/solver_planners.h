#pragma once

#include "memory/planners/registry.h"

namespace skyline {

// planners(), then those that call a general solver: mip (COIN-OR CBC) and smt (Z3). Programs that
// link skyline_solvers pass this table to plan().
PlannerTable all_planners();

}  // namespace skyline
