#pragma once

#include "memory/order/order.h"

namespace skyline {

// order_algorithms(), then one that calls COIN-OR CBC: olla-order. Programs that
// link skyline_solvers pass this table to order().
OrderTable all_order_algorithms();

}  // namespace skyline
