#include "layers/linear.h"

#include <utility>

namespace skyline {

Linear::Linear(Context& context, std::string_view name, const Options& options) : Layer(name) {
  add_weight(context, {"weight"}, {{options.out, options.in}}, options.in, options.initializer,
             options.channels);
  if (options.transposed) transpose_in_files();
  if (options.bias) add_parameter(context, {"bias"}, {{options.out}}, 0);
}

Tensor Linear::operator()(Context& context, Tensor x) const {
  const LayerScope scope(context, name());
  return linear(context, std::move(x), parameter(0), parameter(1));
}

}  // namespace skyline
