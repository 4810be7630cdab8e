#pragma once

#include "memory/order/order.h"

namespace skyline {

// order_algorithms(), then olla-order and olla-joint, which call COIN-OR CBC. Programs that link
// skyline_solvers pass this table to order().
OrderTable all_order_algorithms();

}  // namespace skyline
