#pragma once

#include "memory/order/order.h"

namespace skyline {

// The program's own order.
OrderAnswer order_as_written(const StepGraph& graph, const OrderOptions& options);

}  // namespace skyline
