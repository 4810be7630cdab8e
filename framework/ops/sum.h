#pragma once

#include "framework/op.h"

namespace skyline {

// The sum of one or more inputs of one f32 spec, added in the order of the inputs: the aggregation
// node of the backward graph. In place over any input, the first preferred; the result is the same
// bit for bit wherever it is written. Not differentiable.
class Sum : public Op {
 public:
  explicit Sum(int inputs) : inputs_(inputs) {}
  std::string_view name() const override { return "sum"; }
  // Throws ShapeError when an input differs from the first or their number from the constructor's.
  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override;
  std::vector<InPlacePair> in_place() const override;
  std::unique_ptr<Kernel> kernel(Backend backend,
                                 std::span<const TensorSpec> inputs) const override;

 private:
  int inputs_;
};

}  // namespace skyline
