#pragma once

#include "framework/ops/support/elementwise.h"

namespace skyline {

// The sum of one or more f32 inputs of one spec, added in the order of the inputs: the aggregation
// node of the backward graph. Writes over any input, the first preferred, with the same bits
// wherever it writes. Not differentiable. Throws ShapeError if an input differs from the first or
// their number from the constructor's.
class Sum : public ElementwiseOp {
 public:
  explicit Sum(int inputs) : ElementwiseOp(inputs, Category::kGradient), inputs_(inputs) {}
  static constexpr std::string_view kName = "sum";
  std::string_view name() const override { return kName; }
  std::unique_ptr<Kernel> kernel(Compute& compute,
                                 std::span<const TensorSpec> inputs) const override;

 private:
  int inputs_;
};

}  // namespace skyline
