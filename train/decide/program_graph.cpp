#include "train/decide/program_graph.h"

#include <utility>

#include "memory/alignment.h"
#include "memory/formats/graph_file.h"
#include "memory/order/control_edges.h"

namespace skyline {
namespace {

std::uint64_t bytes_of(const StepGraph& graph, ValueId value) {
  return graph.values[graph.values[value].storage].bytes;
}

// Once sizes are rounded, pairs of different sizes may look alike.
void drop_pairs(StepGraph& graph, bool in_place) {
  for (StepOp& op : graph.ops) {
    std::erase_if(op.in_place, [&](const InPlacePair& pair) {
      return !in_place || bytes_of(graph, op.inputs[static_cast<std::size_t>(pair.input)]) !=
                              bytes_of(graph, op.outputs[static_cast<std::size_t>(pair.output)]);
    });
  }
}

void round_sizes(StepGraph& graph) {
  const std::uint64_t alignment = kAlignmentBytes;
  for (StepValue& value : graph.values) value.bytes = align_up(value.bytes, alignment);
  for (StepOp& op : graph.ops) op.workspace_bytes = align_up(op.workspace_bytes, alignment);
}

void add_unused(StepGraph& graph, std::uint64_t resident) {
  const std::uint64_t used = resident_bytes(graph);
  if (used >= resident) return;
  graph.values.push_back({.bytes = resident - used,
                          .resident = true,
                          .storage = static_cast<ValueId>(graph.values.size())});
}

}  // namespace

StepGraph in_program_sequence(StepGraph executed, std::span<const OpId> numbers) {
  std::vector<StepOp> ops(executed.ops.size());
  for (std::size_t i = 0; i < ops.size(); ++i) ops.at(numbers[i]) = std::move(executed.ops[i]);
  executed.ops = std::move(ops);
  return executed;
}

StepGraph program_graph(StepGraph recorded, bool in_place, std::uint64_t resident_bytes) {
  drop_pairs(recorded, in_place);
  round_sizes(recorded);
  add_resident_edges(recorded);
  add_unused(recorded, resident_bytes);
  return recorded;
}

}  // namespace skyline
