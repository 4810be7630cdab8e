#include "framework/op.h"

namespace skyline {

Recomputation Recomputation::from_inputs(std::size_t count) {
  Recomputation again;
  for (std::size_t i = 0; i < count; ++i) {
    again.sources.push_back(GradientSource::input(static_cast<int>(i)));
  }
  return again;
}

std::vector<Recomputation> Op::recomputations(Specs inputs) const {
  if (is_view()) return {};
  std::vector<Recomputation> all(outputs(inputs).size(), Recomputation::from_inputs(inputs.size()));
  for (std::size_t j = 0; j < all.size(); ++j) {
    all[j].cheap = false;
    all[j].output = static_cast<int>(j);
  }
  return all;
}

std::vector<GradientCall> Op::gradient(Specs, const std::vector<bool>&) const { return {}; }

std::string op_of_layer(std::string_view op, std::string_view layer) {
  std::string text(op);
  if (!layer.empty()) text.append(" of ").append(layer);
  return text;
}

}  // namespace skyline
