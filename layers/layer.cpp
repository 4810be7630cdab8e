#include "layers/layer.h"

#include <utility>

#include "framework/apply.h"

namespace skyline {
namespace {

// Empty in a dry run, where nothing is copied.
std::vector<float> constant(const Context& context, const TensorSpec& spec, float value) {
  if (!context.options().execute) return {};
  return std::vector<float>(static_cast<std::size_t>(spec.shape.elements()), value);
}

const float* data_or_null(const std::vector<float>& values) {
  return values.empty() ? nullptr : values.data();
}

}  // namespace

std::string Layer::full_name(const Context& context, std::string_view what) const {
  std::string text = context.layer();
  if (!text.empty()) text += '.';
  return text.append(name_).append(".").append(what);
}

void Layer::add_weight(Context& context, std::string_view what, const TensorSpec& spec,
                       std::int64_t fan_in, Initializer initializer) {
  std::vector<float> values;
  if (context.options().execute) {
    values = initializer(context.random(), spec.shape.elements(), fan_in);
  }
  parameters_.push_back(
      make_parameter(context, spec, full_name(context, what), data_or_null(values)));
}

void Layer::add_parameter(Context& context, std::string_view what, const TensorSpec& spec,
                          float value) {
  const std::vector<float> values = constant(context, spec, value);
  parameters_.push_back(
      make_parameter(context, spec, full_name(context, what), data_or_null(values)));
}

void Layer::add_buffer(Context& context, std::string_view what, const TensorSpec& spec,
                       float value) {
  const std::vector<float> values = constant(context, spec, value);
  std::string name = full_name(context, what);
  Tensor tensor = context.resident(spec, Category::kState, name, data_or_null(values));
  buffers_.push_back({std::move(name), std::move(tensor)});
}

void Layer::own(const Layer& part) {
  parameters_.insert(parameters_.end(), part.parameters_.begin(), part.parameters_.end());
  buffers_.insert(buffers_.end(), part.buffers_.begin(), part.buffers_.end());
}

}  // namespace skyline
