#include "framework/op.h"

namespace skyline {

Recomputation Recomputation::from_inputs(std::size_t count) {
  Recomputation again;
  for (std::size_t i = 0; i < count; ++i) {
    again.sources.push_back(GradientSource::input(static_cast<int>(i)));
  }
  return again;
}

std::optional<Recomputation> Op::recomputation(std::span<const TensorSpec> inputs) const {
  if (is_view() || outputs(inputs).size() != 1) return {};
  Recomputation again = Recomputation::from_inputs(inputs.size());
  again.cheap = false;
  return again;
}

std::vector<GradientCall> Op::gradient(std::span<const TensorSpec>,
                                       const std::vector<bool>&) const {
  return {};
}

std::string op_of_layer(std::string_view op, std::string_view layer) {
  std::string text(op);
  if (!layer.empty()) text.append(" of ").append(layer);
  return text;
}

}  // namespace skyline
