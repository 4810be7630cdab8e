#include "framework/node.h"

#include <stdexcept>
#include <utility>

namespace skyline {

Node::~Node() {
  std::vector<std::shared_ptr<Node>> pending;
  const auto take_inputs = [&pending](Node& node) {
    for (Edge& edge : node.inputs) {
      if (edge.node) pending.push_back(std::move(edge.node));
    }
    node.inputs.clear();
  };
  take_inputs(*this);
  while (!pending.empty()) {
    const std::shared_ptr<Node> node = std::move(pending.back());
    pending.pop_back();
    if (node.use_count() == 1) take_inputs(*node);
  }
}

std::string Node::str() const { return is_leaf() ? layer : op_of_layer(op->name(), layer); }

std::shared_ptr<const RecomputeStep> Node::recompute_step(int output) const {
  return index(output) < recompute.size() ? recompute[index(output)] : nullptr;
}

const RecomputeStep::Source& Node::retained_source(const GradientSource& wanted) const {
  for (const Retained& kept : retained) {
    if (kept.kind == wanted.kind && kept.index == wanted.index) return kept.source;
  }
  throw std::logic_error("[" + str() + "] retained tensor " + std::to_string(wanted.index) +
                         " is gone: an earlier backward consumed the graph");
}

}  // namespace skyline
