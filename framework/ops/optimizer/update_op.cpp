#include "framework/ops/optimizer/update_op.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "framework/ops/support/shape_checks.h"
#include "framework/ranks/rank_exchange.h"

namespace skyline {

UpdateOp::UpdateOp(std::vector<std::string> state, std::size_t parameters, const RankPlace& place)
    : state_(std::move(state)), parameters_(parameters), place_(place) {
  if (parameters == 0) throw std::invalid_argument("[update] got no parameter, expected some");
}

std::string UpdateOp::parameters() const {
  return fmt::format("parameters={} rank={}/{}", parameters_, place_.rank, place_.ranks);
}

std::vector<OutputSpec> UpdateOp::outputs(std::span<const TensorSpec> inputs) const {
  const std::string where(name());
  const std::size_t unscaled = parameters_ * inputs_of_each();
  require_inputs(where, inputs.size(), unscaled + (inputs.size() > unscaled ? 1 : 0));
  std::vector<OutputSpec> outputs;
  for (std::size_t first = 0; first < unscaled; first += inputs_of_each()) {
    const TensorSpec expected{inputs[first].shape, DType::kFloat32};
    require_spec(where, "value", inputs[first], expected);
    require_spec(where, "gradient", inputs[first + 1], expected);
    outputs.push_back({expected, Category::kParameter});
    const TensorSpec state = state_spec(expected, place_);
    for (std::size_t part = 0; part < state_.size(); ++part) {
      require_spec(where, state_[part], inputs[first + 2 + part], state);
      outputs.push_back({state, Category::kOptimizer});
    }
  }
  if (is_scaled(inputs)) require_spec(where, "gradient_scale", inputs.back(), {Shape{1}});
  return outputs;
}

std::vector<InPlacePair> UpdateOp::in_place() const {
  std::vector<InPlacePair> pairs;
  for (std::size_t p = 0; p < parameters_; ++p) {
    const std::size_t input = p * inputs_of_each(), output = p * outputs_of_each();
    pairs.push_back({.input = static_cast<int>(input), .output = static_cast<int>(output)});
    for (std::size_t part = 1; part <= state_.size(); ++part) {
      pairs.push_back(
          {.input = static_cast<int>(input + 1 + part), .output = static_cast<int>(output + part)});
    }
  }
  return pairs;
}

TensorSpec state_spec(const TensorSpec& value, const RankPlace& place) {
  if (place.ranks == 1) return value;
  const auto size = static_cast<std::size_t>(value.shape.elements());
  return {.shape = {static_cast<std::int64_t>(largest_share_of_tensor(size, place.ranks))}};
}

std::vector<UpdateRange> UpdateOp::ranges(std::span<const TensorSpec> inputs) const {
  std::vector<UpdateRange> ranges;
  for (std::size_t p = 0; p < parameters_; ++p) {
    const std::int64_t size = inputs[p * inputs_of_each()].shape.elements();
    const RankShare share = share_of_tensor(static_cast<std::size_t>(size), place_);
    ranges.push_back({.first = static_cast<std::int64_t>(share.begin),
                      .count = static_cast<std::int64_t>(share.size())});
  }
  return ranges;
}

bool UpdateOp::is_scaled(std::span<const TensorSpec> inputs) const {
  return inputs.size() > parameters_ * inputs_of_each();
}

}  // namespace skyline
