#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "framework/retention.h"

namespace skyline {

// One applied op of the forward graph, or a leaf (a parameter). It holds only the tensors that its
// gradient calls read, so an activation that no gradient needs dies as soon as the program drops
// it. Under recompute it may hold recompute steps instead, which refer only to tensors that nodes
// hold anyway.
class Node {
 public:
  // A tensor kept from forward to backward: input or output `index` of the op.
  struct Retained {
    GradientSource::Kind kind;
    int index;
    RecomputeStep::Source source;  // without history, so that a node never holds itself
  };

  Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  // Releases ancestors one by one, so that a deep graph cannot overflow the stack.
  ~Node();

  bool is_leaf() const noexcept { return op == nullptr; }
  std::string str() const;  // "conv2d of conv1"
  // Returns how output `output` is recomputed; null if it is not.
  std::shared_ptr<const RecomputeStep> recompute_step(int output) const;
  // Returns what was retained for `wanted`. Throws std::logic_error if the graph was consumed.
  const RecomputeStep::Source& retained_source(const GradientSource& wanted) const;

  std::shared_ptr<const Op> op;  // null for a leaf
  std::string layer;             // of a leaf: the parameter's name
  std::uint64_t sequence = 0;    // consumers have greater numbers than producers
  std::vector<Edge> inputs;      // empty edges for inputs that need no gradient
  std::vector<TensorSpec> output_specs;
  std::vector<GradientCall> calls;
  std::vector<Retained> retained;
  // By output: recomputes it. Null or absent: its readers retain it.
  std::vector<std::shared_ptr<const RecomputeStep>> recompute;
  Tensor gradient;  // of a leaf: where its gradient is written
};

}  // namespace skyline
