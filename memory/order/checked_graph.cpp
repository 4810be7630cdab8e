#include "memory/order/checked_graph.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

namespace skyline {

CheckedGraph::CheckedGraph(const StepGraph& of, const OrderOptions& options)
    : graph(of),
      in_place(options.in_place),
      values(of.values.size()),
      needs(of.ops.size()),
      workspaces(of.ops.size()) {
  const auto rounded = [&](std::uint64_t bytes) {
    return (bytes + options.alignment - 1) / options.alignment * options.alignment;
  };
  std::vector<std::optional<OpId>> writer(of.values.size());
  for (OpId op = 0; op < of.ops.size(); ++op) {
    workspaces[op] = rounded(of.ops[op].workspace_bytes);
    for (const ValueId output : of.ops[op].outputs) {
      const bool view = owner(output) != output;
      if (!view && of.values[output].resident) continue;
      writer[output] = op;
      if (view) continue;
      values[output].counted = true;
      values[output].producer = op;
      values[output].bytes = rounded(of.values[output].bytes);
    }
  }
  for (ValueId value = 0; value < of.values.size(); ++value) {
    if (of.values[value].kept) values[owner(value)].kept = true;
  }
  for (OpId op = 0; op < of.ops.size(); ++op) {
    needs[op] = of.ops[op].after;
    for (const ValueId input : of.ops[op].inputs) {
      if (writer[input]) needs[op].push_back(*writer[input]);
      if (writer[owner(input)]) needs[op].push_back(*writer[owner(input)]);
      std::vector<Reads>& readers = values[owner(input)].readers;
      if (readers.empty() || readers.back().op != op) readers.push_back({op, 0});
      ++readers.back().times;
    }
    for (const ValueId output : of.ops[op].outputs) {
      const std::optional<OpId>& made = writer[owner(output)];
      if (made && *made != op) needs[op].push_back(*made);
    }
  }
}

std::string CheckedGraph::name(OpId op) const {
  if (op == kNoOp) return "the end of the step";
  const std::string& called = graph.ops[op].name;
  return called.empty() ? fmt::format("op {}", op) : fmt::format("op {} ({})", op, called);
}

std::vector<ValueId> CheckedGraph::outputs(OpId op) const {
  std::vector<ValueId> requested;
  for (const ValueId output : graph.ops[op].outputs) {
    if (owner(output) == output && values[output].counted) requested.push_back(output);
  }
  return requested;
}

ValueId CheckedGraph::input_of(OpId op, const InPlacePair& pair) const {
  return owner(graph.ops[op].inputs[static_cast<std::size_t>(pair.input)]);
}

ValueId CheckedGraph::output_of(OpId op, const InPlacePair& pair) const {
  return graph.ops[op].outputs[static_cast<std::size_t>(pair.output)];
}

bool CheckedGraph::can_use(OpId op, const InPlacePair& pair) const {
  const ValueId input = input_of(op, pair), output = output_of(op, pair);
  if (!in_place || owner(output) != output || !values[output].counted) return false;
  const Value& read = values[input];
  if (!read.counted || read.kept) return false;
  if (graph.values[input].bytes != graph.values[output].bytes) return false;
  const auto by_op = std::ranges::find(read.readers, op, &Reads::op);
  return by_op->times == 1;
}

}  // namespace skyline
