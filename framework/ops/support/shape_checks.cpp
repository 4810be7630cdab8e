#include "framework/ops/support/shape_checks.h"

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

}  // namespace skyline
