#include "memory/order/ordered_trace.h"

#include <vector>

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
  Trace trace = simulate(reordered(graph, order), {.in_place = options.in_place});
  trace.tags.clear();
  std::erase_if(trace.blocks, [](const TraceBlock& block) { return block.bytes == 0; });
  return trace;
}

}  // namespace skyline
