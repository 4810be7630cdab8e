#pragma once

#include <span>

#include "memory/order/order.h"
#include "memory/plan.h"

namespace skyline {

// Solves OLLA's integer program for the location of arrays in a given order (arXiv:2210.12924,
// section 3.2), which is that of PGMO's planner `mip`: runs it on the trace of the order, and the
// validator on its plan. Throws what they throw: std::invalid_argument for large traces.
Plan location_program(const StepGraph& graph, std::span<const OpId> order,
                      const OrderOptions& options);

}  // namespace skyline
