#include "layers/conv2d.h"

#include <utility>

namespace skyline {

Conv2d::Conv2d(Context& context, std::string_view name, const Options& options)
    : Layer(name),
      params_{.stride = options.stride,
              .padding = options.padding,
              .groups = options.groups,
              .relu = options.relu} {
  const std::int64_t of_group = options.in / options.groups;
  add_weight(context, {"weight"},
             {{options.out, of_group, options.kernel.height, options.kernel.width}},
             of_group * options.kernel.area(), options.initializer, of_group);
  if (options.bias) add_parameter(context, {"bias"}, {{options.out}}, 0);
}

Tensor Conv2d::operator()(Context& context, Tensor x) const {
  const LayerScope scope(context, name());
  return conv2d(context, std::move(x), parameter(0), parameter(1), params_);
}

}  // namespace skyline
