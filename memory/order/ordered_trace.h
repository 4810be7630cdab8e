#pragma once

#include <span>

#include "memory/order/order.h"
#include "memory/trace.h"

namespace skyline {

// Returns the graph with its ops in the sequence of `order`, which must respect all that they need.
StepGraph reordered(const StepGraph& graph, std::span<const OpId> order);

// Returns the requests of the step when it is executed in that order, without tags. Leaves out
// those of no bytes: they count nothing in an order, so they take no place in its plan either. The
// trace's lower bound is the order's peak.
Trace trace_of_order(const StepGraph& graph, std::span<const OpId> order,
                     const OrderOptions& options);

}  // namespace skyline
