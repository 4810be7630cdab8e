// The tables of planners and orders with those that call a solver.
#pragma once

#include "memory/order/order.h"
#include "memory/planners/registry.h"

namespace skyline {

// planners(), then those that call a general solver: mip (COIN-OR CBC) and smt (Z3). Programs that
// link skyline_solvers pass this table to plan().
PlannerTable all_planners();

// order_algorithms(), then olla-order and olla-joint, which call COIN-OR CBC. Programs that link
// skyline_solvers pass this table to order().
OrderTable all_order_algorithms();

}  // namespace skyline
