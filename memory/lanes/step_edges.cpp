#include "memory/lanes/step_edges.h"

#include <utility>

#include "memory/order/control_edges.h"
#include "memory/order/order.h"
#include "memory/order/order_problem.h"

namespace skyline {
namespace {

// An op that writes over a block waits for the ops that have read it.
void add_overwrite_edges(const SimulatedStep& step, StepGraph& graph) {
  std::vector<std::vector<OpId>> readers(step.trace.size());
  for (const BlockUse& use : step.uses) {
    if (use.kind == BlockUse::Kind::kRead) readers[use.block].push_back(use.op);
    if (use.kind != BlockUse::Kind::kOverwrite) continue;
    for (const OpId reader : std::exchange(readers[use.block], {})) {
      if (reader != use.op) graph.ops[use.op].after.push_back(reader);
    }
  }
}

}  // namespace

StepEdges step_edges(const StepGraph& graph, const SimulatedStep& step) {
  StepGraph whole = graph;
  add_overwrite_edges(step, whole);
  add_resident_edges(whole);
  OrderProblem problem = order_problem(whole, {});
  StepEdges edges;
  edges.reserve(problem.ops.size());
  for (OrderProblem::Op& op : problem.ops) edges.push_back(std::move(op.predecessors));
  return edges;
}

}  // namespace skyline
