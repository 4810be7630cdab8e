#include "layers/layer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "framework/apply.h"

namespace skyline {
namespace {

InitialValues normal(RandomStream& random, double variance) {
  return {.philox = {random.seed},
          .stream = random.take(),
          .deviation = static_cast<float>(std::sqrt(variance))};
}

// Overwrites a resident f32 tensor in pieces of values that draw(first, values) gives, so that the
// host needs no copy of it.
template <typename Draw>
void fill(Context& context, const Tensor& tensor, Draw draw) {
  if (!context.executes()) return;
  constexpr std::size_t kPiece = 1 << 16;
  const auto elements = static_cast<std::size_t>(tensor.shape().elements());
  std::vector<float> values(std::min(kPiece, elements));
  for (std::size_t first = 0; first < elements; first += kPiece) {
    const auto piece = std::span(values).first(std::min(kPiece, elements - first));
    draw(first, piece);
    context.compute().write(tensor.address() + first * sizeof(float), piece.data(),
                            piece.size_bytes());
  }
}

void fill(Context& context, const Tensor& tensor, float value) {
  if (value == 0) return;  // as resident tensors begin
  fill(context, tensor,
       [value](std::size_t, std::span<float> values) { std::ranges::fill(values, value); });
}

}  // namespace

void InitialValues::draw(std::uint64_t first, std::span<float> values) const {
  for (std::size_t i = 0; i < values.size(); i += 4) {
    const auto words = philox(stream, (first + i) / 4);
    const auto low = normal_pair(words[0], words[1]);
    const auto high = normal_pair(words[2], words[3]);
    const float four[] = {low[0], low[1], high[0], high[1]};
    for (std::size_t j = 0; j < 4 && i + j < values.size(); ++j) {
      values[i + j] = deviation * four[j];
    }
  }
}

InitialValues lecun_normal(RandomStream& random, std::int64_t fan_in) {
  return normal(random, 1.0 / static_cast<double>(fan_in));
}

InitialValues he_normal(RandomStream& random, std::int64_t fan_in) {
  return normal(random, 2.0 / static_cast<double>(fan_in));
}

Initializer normal_of(double deviation) {
  return [deviation](RandomStream& random, std::int64_t) {
    return normal(random, deviation * deviation);
  };
}

std::string Layer::full_name(const Context& context, std::string_view what) const {
  std::string text = context.layer();
  if (!text.empty()) text += '.';
  return text.append(name_).append(".").append(what);
}

void Layer::add_weight(Context& context, const TensorName& what, const TensorSpec& spec,
                       std::int64_t fan_in, const Initializer& initializer, std::int64_t channels) {
  parameters_.push_back(make_parameter(context, spec, full_name(context, what.name), nullptr));
  const Tensor& value = parameters_.back().value;
  weights_.push_back({what.stored, value.detach(), channels});
  if (!context.executes()) return;
  const InitialValues initial = initializer(context.random(), fan_in);
  fill(context, value,
       [&](std::size_t first, std::span<float> values) { initial.draw(first, values); });
}

void Layer::add_parameter(Context& context, const TensorName& what, const TensorSpec& spec,
                          float value) {
  parameters_.push_back(make_parameter(context, spec, full_name(context, what.name), nullptr));
  weights_.push_back({what.stored, parameters_.back().value.detach()});
  fill(context, parameters_.back().value, value);
}

void Layer::add_buffer(Context& context, const TensorName& what, const TensorSpec& spec,
                       float value) {
  std::string name = full_name(context, what.name);
  Tensor tensor = context.resident(spec, Category::kState, name);
  weights_.push_back({what.stored, tensor});
  fill(context, tensor, value);
  buffers_.push_back({std::move(name), std::move(tensor)});
}

void Layer::own_as(std::string_view stored, const Layer& part) {
  parameters_.insert(parameters_.end(), part.parameters_.begin(), part.parameters_.end());
  buffers_.insert(buffers_.end(), part.buffers_.begin(), part.buffers_.end());
  for (StoredWeight& weight : weights_below(stored, part)) weights_.push_back(std::move(weight));
}

std::vector<StoredWeight> weights_below(std::string_view name, const Layer& part) {
  std::vector<StoredWeight> weights = part.weights();
  if (name.empty()) return weights;
  for (StoredWeight& weight : weights) weight.name = std::string(name) + "." + weight.name;
  return weights;
}

}  // namespace skyline
