#pragma once

#include "framework/ops/support/elementwise.h"

namespace skyline {

// The sum of one or more inputs of one f32 spec, added in the order of the inputs: the aggregation
// node of the backward graph. In place over any input, the first preferred; the result is the same
// bit for bit wherever it is written. Not differentiable. Throws ShapeError when an input differs
// from the first or their number from the constructor's.
class Sum : public ElementwiseOp {
 public:
  explicit Sum(int inputs) : ElementwiseOp(inputs, Category::kGradient), inputs_(inputs) {}
  std::string_view name() const override { return "sum"; }
  std::unique_ptr<Kernel> kernel(Compute& compute,
                                 std::span<const TensorSpec> inputs) const override;

 private:
  int inputs_;
};

}  // namespace skyline
