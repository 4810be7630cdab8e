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

const Recipe::Ingredient& Node::retained_ingredient(const GradientSource& source) const {
  for (const Retained& kept : retained) {
    if (kept.kind == source.kind && kept.index == source.index) return kept.ingredient;
  }
  throw std::logic_error("[" + str() + "] retained tensor " + std::to_string(source.index) +
                         " is gone: the graph has been consumed by an earlier backward");
}

std::string op_of_layer(std::string_view op, std::string_view layer) {
  std::string text(op);
  if (!layer.empty()) text.append(" of ").append(layer);
  return text;
}

}  // namespace skyline
