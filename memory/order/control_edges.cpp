#include "memory/order/control_edges.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "memory/order/baselines.h"
#include "memory/order/placed_order.h"

namespace skyline {
namespace {

// Who has touched a resident value so far.
struct Users {
  std::optional<OpId> writer;
  std::vector<OpId> readers;  // since the writer
};

class ResidentEdges {
 public:
  explicit ResidentEdges(StepGraph& graph) : graph_(graph), users_(graph.values.size()) {}

  void add(OpId id) {
    StepOp& op = graph_.ops[id];
    for (const ValueId input : op.inputs) {
      if (is_resident(input)) read(id, users_[graph_.values[input].storage]);
    }
    for (const ValueId output : op.outputs) {
      const bool is_view = graph_.values[output].storage != output;
      if (!is_view && is_resident(output)) write(id, users_[output]);
    }
  }

 private:
  bool is_resident(ValueId value) const {
    return graph_.values[graph_.values[value].storage].resident;
  }
  void edge(OpId before, OpId id) {
    if (before != id) graph_.ops[id].after.push_back(before);
  }

  void read(OpId id, Users& value) {
    if (value.writer) edge(*value.writer, id);
    value.readers.push_back(id);
  }

  void write(OpId id, Users& value) {
    if (value.writer) edge(*value.writer, id);
    for (const OpId reader : std::exchange(value.readers, {})) edge(reader, id);
    value.writer = id;
  }

  StepGraph& graph_;
  std::vector<Users> users_;  // of each value
};

void remove_repeated(std::vector<OpId>& ops) {
  std::ranges::sort(ops);
  const auto repeated = std::ranges::unique(ops);
  ops.erase(repeated.begin(), repeated.end());
}

}  // namespace

void add_resident_edges(StepGraph& graph) {
  ResidentEdges edges(graph);
  for (OpId id = 0; id < graph.ops.size(); ++id) {
    edges.add(id);
    remove_repeated(graph.ops[id].after);
  }
}

void keep_forward_sequence(StepGraph& graph) {
  std::optional<OpId> last;
  for (OpId id = 0; id < graph.ops.size(); ++id) {
    StepOp& op = graph.ops[id];
    if (last) op.after.push_back(*last);
    remove_repeated(op.after);
    if (op.phase == Phase::kForward) last = id;
  }
}

ForcedGraph force_early_updates(const StepGraph& graph, const OrderOptions& options) {
  const OrderProblem problem = order_problem(graph, options);
  ForcedGraph forced{.graph = {}, .sequence = early_sequence(problem)};
  forced.graph = reordered(graph, forced.sequence);
  std::vector<OpId> updates;
  for (OpId id = 0; id < forced.sequence.size(); ++id) {
    if (problem.ops[forced.sequence[id]].outputs.empty()) {
      updates.push_back(id);
      continue;
    }
    std::vector<OpId>& after = forced.graph.ops[id].after;
    after.insert(after.end(), updates.begin(), updates.end());
    remove_repeated(after);
  }
  forced.updates = updates.size();
  return forced;
}

}  // namespace skyline
