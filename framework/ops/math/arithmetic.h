#pragma once

#include <utility>

#include "framework/context.h"
#include "framework/ops/support/declared_op.h"

// Sums of tensors, and the constants that they begin with.

namespace skyline {

struct AddScaledParams {
  float scale = 1;
  bool relu = false;
};

// y = x + scale * residual, with relu max(y, 0), in one pass; f32 of one shape, no broadcasting.
// Used for residual connections (He et al. 2016), their scaled form (Szegedy et al. 2016, section
// 3.3) and weighted sums of losses.
//
// Retains nothing, with relu y. Writes over x, else over residual. In backward let g be
// grad_output, with relu masked by y > 0 (over grad_output): grad_x is g itself; grad_residual is g
// itself if scale is 1, else scale * g. Throws ShapeError.
Tensor add_scaled(Context& context, Tensor x, Tensor residual, AddScaledParams params);

// y = a + b, as add_scaled() computes it. Retains nothing: both gradients are views of grad_output.
inline Tensor add(Context& context, Tensor a, Tensor b) {
  return add_scaled(context, std::move(a), std::move(b), {});
}

// The sum of one or more f32 inputs of one spec, added in the order of the inputs: the aggregation
// node of the backward graph. Writes over any input, the first preferred, with the same bits
// wherever it writes. Not differentiable. Throws ShapeError if an input differs from the first or
// their number from the constructor's.
class Sum : public ElementwiseOp {
 public:
  explicit Sum(int inputs) : ElementwiseOp(inputs, Category::kGradient), inputs_(inputs) {}
  static constexpr std::string_view kName = "sum";
  std::string_view name() const override { return kName; }
  std::unique_ptr<Kernel> kernel(Compute& compute, Specs inputs) const override;

 private:
  int inputs_;
};

// No inputs; one f32 output of the given spec, every element `value`: the seed of backward, and
// zeros for outputs that nothing used. Not differentiable.
class Fill : public Op {
 public:
  // Throws ShapeError unless the spec is f32.
  Fill(TensorSpec spec, float value, Category category = Category::kGradient);
  std::string_view name() const override { return "fill"; }
  std::string parameters() const override;
  std::vector<OutputSpec> outputs(Specs inputs) const override;
  std::unique_ptr<Kernel> kernel(Compute& compute, Specs inputs) const override;

 private:
  TensorSpec spec_;
  float value_;
  Category category_;
};

}  // namespace skyline
