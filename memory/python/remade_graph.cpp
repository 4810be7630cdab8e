#include "memory/python/remade_graph.h"

#include <fmt/format.h>

#include <utility>

#include "memory/errors.h"
#include "memory/order/order_problem.h"

namespace skyline {

RemadeGraph::RemadeGraph(StepGraph graph, std::vector<double> seconds, OpId backward)
    : problem_{.graph = std::move(graph),
               .seconds = std::move(seconds),
               .backward = backward,
               .remakes = {},
               .makes_each = true} {
  const std::size_t ops = problem_.graph.ops.size();
  if (problem_.seconds.size() != ops) {
    throw GraphError({.source = "seconds",
                      .problem = fmt::format("got {} numbers, expected one for each of {} ops",
                                             problem_.seconds.size(), ops)});
  }
  if (backward > ops) {
    throw GraphError({.source = "backward",
                      .problem = fmt::format("got {}, expected at most {}", backward, ops)});
  }
  for (OpId op = 0; op < backward; ++op) add_remakes(op);
}

void RemadeGraph::add_remakes(OpId op) {
  const StepGraph& graph = problem_.graph;
  const StepOp& made_by = graph.ops[op];
  std::uint64_t bytes = 0;
  for (const ValueId output : made_by.outputs) bytes += graph.values[output].bytes;
  for (const ValueId output : made_by.outputs) {
    const StepValue& value = graph.values[output];
    if (value.resident || value.kept || value.bytes == 0 || made_by.inputs.empty()) continue;
    problem_.remakes.push_back({.value = output,
                                .inputs = made_by.inputs,
                                .workspace_bytes = made_by.workspace_bytes + bytes - value.bytes,
                                .seconds = problem_.seconds[op]});
    op_of_.push_back(op);
  }
}

std::vector<OpId> RemadeGraph::remade_ops(const RemakeChoice& choice) const {
  RemadeSequence sequence(problem_);
  sequence.find(choice);
  std::vector<OpId> ops;
  for (const RemadeOp& op : sequence.ops()) {
    if (op.is_remake) ops.push_back(op_of_[op.index]);
  }
  return ops;
}

}  // namespace skyline
