#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "framework/shape.h"
#include "memory/step_graph.h"

namespace skyline {

class Node;

// A block of memory and who needs it. Tensors share storages.
struct Storage {
  Block block;
  Category category = Category::kActivation;
  bool resident = false;
  bool retained = false;  // a node holds it until the backward pass has read it
  std::string layer;
  // Its number in the step graph being recorded, valid if `generation` is the recorder's.
  ValueId value = 0;
  std::uint64_t generation = 0;
  // Ops that will still read it: "conv2d of conv1". Kept only under record_graph, to explain why
  // it was not written over.
  std::vector<std::string> readers;

  std::byte* address() const noexcept { return block.address(); }
};

// The origin of a tensor in the forward graph: output `output` of `node`.
struct Edge {
  std::shared_ptr<Node> node;
  int output = 0;
};

// A shape, a dtype and a counted reference to a storage. Copying a tensor copies the references.
// Ops take tensors by value: an op may write over an operand that was moved in and has no other
// holder, so `x = relu(context, std::move(x))` runs in place and `y = relu(context, x)` never does.
class Tensor {
 public:
  Tensor() = default;
  Tensor(TensorSpec spec, std::shared_ptr<Storage> storage, Edge edge = {})
      : spec_(spec), storage_(std::move(storage)), edge_(std::move(edge)) {}

  const TensorSpec& spec() const noexcept { return spec_; }
  const Shape& shape() const noexcept { return spec_.shape; }
  explicit operator bool() const noexcept { return storage_ != nullptr; }

  std::byte* address() const noexcept { return storage_->address(); }
  const std::shared_ptr<Storage>& storage() const noexcept { return storage_; }

  // True if backward would compute a gradient for it.
  bool requires_grad() const noexcept { return edge_.node != nullptr; }
  const Edge& edge() const noexcept { return edge_; }
  // Returns the same bytes without history.
  Tensor detach() const { return Tensor(spec_, storage_); }

 private:
  TensorSpec spec_;
  std::shared_ptr<Storage> storage_;
  Edge edge_;
};

// A resident tensor that training changes, its gradient and its name ("conv1.weight").
struct Parameter {
  std::string name;
  Tensor value;     // its edge leads to a leaf node if it has a gradient
  Tensor gradient;  // same spec; empty if frozen, in inference and under fused_update
};

// A resident tensor that the optimizer does not change (running mean and variance).
struct Buffer {
  std::string name;
  Tensor value;
};

}  // namespace skyline
