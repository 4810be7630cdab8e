#pragma once

#include "framework/op.h"

namespace skyline {

// No inputs; one f32 output of the given spec, every element `value`: the seed of backward, and
// zeros for outputs that nothing used. Not differentiable.
class Fill : public Op {
 public:
  // Throws ShapeError unless the spec is f32.
  Fill(TensorSpec spec, float value, Category category = Category::kGradient);
  std::string_view name() const override { return "fill"; }
  std::string parameters() const override;
  std::vector<OutputSpec> outputs(std::span<const TensorSpec> inputs) const override;
  std::unique_ptr<Kernel> kernel(Compute& compute,
                                 std::span<const TensorSpec> inputs) const override;

 private:
  TensorSpec spec_;
  float value_;
  Category category_;
};

}  // namespace skyline
