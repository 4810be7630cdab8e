#include "memory/order/solvers/location_program.h"

#include "memory/order/ordered_trace.h"
#include "memory/planners/solvers/solver_planners.h"

namespace skyline {

Plan location_program(const StepGraph& graph, std::span<const OpId> order,
                      const OrderOptions& options) {
  return plan(trace_of_order(graph, order, options), "mip",
              {.alignment = options.alignment, .time_limit_seconds = options.time_limit_seconds},
              all_planners());
}

}  // namespace skyline
