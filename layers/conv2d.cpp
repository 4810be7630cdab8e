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

Link Conv2d::link() const {
  Link link = conv2d_link(parameter(0), parameter(1), params_);
  link.layer = name();
  return link;
}

Tensor Conv2d::operator()(Context& context, Tensor x) const {
  return apply(context, link(), std::move(x));
}

}  // namespace skyline
