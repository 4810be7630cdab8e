#include "framework/ops/support/elementwise.h"

#include <string>

#include "framework/ops/support/shape_checks.h"

namespace skyline {

std::vector<OutputSpec> ElementwiseOp::outputs(std::span<const TensorSpec> inputs) const {
  const std::string where(name());
  require_inputs(where, inputs.size(), static_cast<std::size_t>(operands_));
  const TensorSpec expected{inputs[0].shape, DType::kFloat32};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    require_spec(where, "operand " + std::to_string(i), inputs[i], expected);
  }
  return {{expected, category_}};
}

std::vector<InPlacePair> ElementwiseOp::in_place() const {
  std::vector<InPlacePair> pairs;
  for (int operand = 0; operand < operands_; ++operand) {
    pairs.push_back({.input = operand, .output = 0});
  }
  return pairs;
}

}  // namespace skyline
