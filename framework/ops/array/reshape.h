#pragma once

#include "framework/context.h"
#include "framework/op.h"

namespace skyline {

// The same bytes under another shape: a view, which requests and copies nothing. With the shape of
// its input it is an alias; add uses that to pass its gradient on.
class Reshape : public Op {
 public:
  explicit Reshape(Shape shape) : shape_(shape) {}
  std::string_view name() const override { return "reshape"; }
  std::string parameters() const override { return "shape=" + shape_.str(); }
  // Throws ShapeError if the numbers of elements differ.
  std::vector<OutputSpec> outputs(Specs inputs) const override;
  bool is_view() const override { return true; }
  // Throws std::logic_error: a view runs no kernel.
  std::unique_ptr<Kernel> kernel(Compute& compute, Specs inputs) const override;
  std::vector<GradientCall> gradient(Specs inputs, const std::vector<bool>& needed) const override;

 private:
  Shape shape_;
};

// Returns a view of x under `shape`, elements in memory order: a rank-4 tensor [N, C, H, W] gives
// its elements in the order n, h, w, c. Any dtype. Throws ShapeError.
Tensor reshape(Context& context, Tensor x, Shape shape);

// Returns a view [N, elements / N] of [N, ...]; columns of a rank-4 tensor are in the order h, w,
// c. Throws ShapeError on rank 0.
Tensor flatten(Context& context, Tensor x);

// Returns the call that passes grad_output, of that shape, on as the gradient of an input.
GradientCall pass_gradient_on(const Shape& shape, int input);

}  // namespace skyline
