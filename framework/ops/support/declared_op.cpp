#include "framework/ops/support/declared_op.h"

#include <string>

namespace skyline {

void require_float(const std::string& where, const std::string& what, const TensorSpec& spec,
                   int rank) {
  if (spec.dtype != DType::kFloat32 || spec.shape.rank() != rank) {
    throw ShapeError(where, what, spec.str(), "f32 of rank " + std::to_string(rank));
  }
  if (spec.shape.elements() == 0) throw ShapeError(where, what, spec.str(), "no empty extent");
}

void require_spec(const std::string& where, const std::string& what, const TensorSpec& spec,
                  const TensorSpec& expected) {
  if (spec != expected) throw ShapeError(where, what, spec.str(), expected.str());
}

void require_extent(const std::string& where, const std::string& what, std::int64_t got,
                    std::int64_t expected) {
  if (got == expected) return;
  throw ShapeError(where, what, std::to_string(got), std::to_string(expected));
}

void require_inputs(const std::string& where, std::size_t got, std::size_t expected) {
  if (got == expected) return;
  throw ShapeError(where, "number of inputs", std::to_string(got), std::to_string(expected));
}

std::vector<OutputSpec> ElementwiseOp::outputs(Specs inputs) const {
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
