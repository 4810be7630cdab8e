#include "framework/ops/array/reshape.h"

#include <stdexcept>
#include <utility>

#include "framework/apply.h"
#include "framework/ops/support/declared_op.h"

namespace skyline {

std::vector<OutputSpec> Reshape::outputs(Specs inputs) const {
  require_inputs("reshape", inputs.size(), 1);
  if (inputs[0].shape.elements() != shape_.elements()) {
    throw ShapeError(
        "reshape", "target shape", shape_.str(),
        std::to_string(inputs[0].shape.elements()) + " elements, as in " + inputs[0].shape.str());
  }
  return {{{shape_, inputs[0].dtype}, Category::kActivation}};
}

std::unique_ptr<Kernel> Reshape::kernel(Compute&, Specs) const {
  throw std::logic_error("[reshape] a view runs no kernel");
}

std::vector<GradientCall> Reshape::gradient(Specs inputs, const std::vector<bool>&) const {
  return {pass_gradient_on(inputs[0].shape, 0)};
}

Tensor reshape(Context& context, Tensor x, Shape shape) {
  return apply(context, std::make_shared<Reshape>(shape), operands(std::move(x))).front();
}

Tensor flatten(Context& context, Tensor x) {
  if (x.shape().rank() == 0) throw ShapeError("flatten", "rank", "0", "at least 1");
  std::int64_t columns = 1;
  for (int axis = 1; axis < x.shape().rank(); ++axis) columns *= x.shape()[axis];
  const Shape shape{x.shape()[0], columns};
  return reshape(context, std::move(x), shape);
}

GradientCall pass_gradient_on(const Shape& shape, int input) {
  return {std::make_shared<Reshape>(shape), {GradientSource::grad_output(0)}, {input}};
}

}  // namespace skyline
