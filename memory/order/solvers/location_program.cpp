#include "memory/order/solvers/location_program.h"

#include <vector>

#include "memory/planners/solvers/solver_planners.h"

namespace skyline {

StepGraph reordered(const StepGraph& graph, std::span<const OpId> order) {
  std::vector<OpId> place(graph.ops.size());
  for (OpId at = 0; at < order.size(); ++at) place[order[at]] = at;
  StepGraph result{.values = graph.values, .ops = {}};
  result.ops.reserve(order.size());
  for (const OpId op : order) {
    result.ops.push_back(graph.ops[op]);
    for (OpId& before : result.ops.back().after) before = place[before];
  }
  return result;
}

Trace trace_of_order(const StepGraph& graph, std::span<const OpId> order,
                     const OrderOptions& options) {
  return simulate(reordered(graph, order), {.in_place = options.in_place});
}

Plan location_program(const StepGraph& graph, std::span<const OpId> order,
                      const OrderOptions& options) {
  return plan(trace_of_order(graph, order, options), "mip",
              {.alignment = options.alignment, .time_limit_seconds = options.time_limit_seconds},
              all_planners());
}

}  // namespace skyline
