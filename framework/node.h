#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "framework/recompute.h"

namespace skyline {

// One applied op of the forward graph, or a leaf (a parameter). It holds the tensors that its
// gradient calls read and no others, so an activation that no gradient needs dies as soon as the
// program lets go of it; or, under recompute, recipes in place of them, which hold tensors that
// nodes hold in any case.
class Node {
 public:
  // A tensor kept from forward to backward: input or output `index` of the op.
  struct Retained {
    GradientSource::Kind kind;
    int index;
    Recipe::Ingredient ingredient;  // without history, so that a node never holds itself
  };

  Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  // Lets go of its ancestors one by one: a graph of any depth needs no stack.
  ~Node();

  bool is_leaf() const noexcept { return op == nullptr; }
  std::string str() const;  // "conv2d of conv1"
  // What is retained of what `source` names. Throws std::logic_error when nothing is.
  const Recipe::Ingredient& retained_ingredient(const GradientSource& source) const;

  std::shared_ptr<const Op> op;  // null for a leaf
  std::string layer;             // of a leaf: the parameter's name
  std::uint64_t sequence = 0;    // consumers have greater numbers than producers
  std::vector<Edge> inputs;      // edges of inputs that need no gradient are empty
  std::vector<TensorSpec> output_specs;
  std::vector<GradientCall> calls;
  std::vector<Retained> retained;
  std::shared_ptr<const Recipe> recipe;  // of output 0; null: whoever needs it retains it
  Tensor gradient;                       // of a leaf: where its gradient goes
};

// "conv2d of conv1", or just the op's name where no layer is known.
std::string op_of_layer(std::string_view op, std::string_view layer);

}  // namespace skyline
