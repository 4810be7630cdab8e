#include "layers/layer_norm.h"

#include <utility>

namespace skyline {

LayerNorm::LayerNorm(Context& context, std::string_view name, const Options& options)
    : Layer(name) {
  add_parameter(context, {"weight"}, {{options.features}}, 1);
  if (options.bias) add_parameter(context, {"bias"}, {{options.features}}, 0);
}

Tensor LayerNorm::operator()(Context& context, Tensor x) const {
  const LayerScope scope(context, name());
  return layer_norm(context, std::move(x), parameter(0), parameter(1));
}

}  // namespace skyline
