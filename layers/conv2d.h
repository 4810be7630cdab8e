#pragma once

#include <utility>

#include "framework/ops/connection/conv2d.h"
#include "layers/layer.h"

namespace skyline {

// A convolution with weight [out, in / groups, kernel height, kernel width] and bias [out]. Calls
// throw ShapeError unless x has `in` channels and groups divides in and out.
class Conv2d : public Layer {
 public:
  struct Options {
    int in = 1;
    int out = 1;
    Size2d kernel = 1;
    Size2d stride = 1;
    Size2d padding = 0;
    int groups = 1;
    bool bias = true;   // initially zero
    bool relu = false;  // applied to the result
    Initializer initializer = lecun_normal;
  };

  Conv2d(Context& context, std::string_view name, const Options& options)
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

  // x [N, in, H, W] to [N, out, OH, OW], see conv2d().
  Tensor operator()(Context& context, Tensor x) const {
    return apply(context, link(), std::move(x));
  }
  // Returns the op that a call applies, as a link of a chain.
  Link link() const {
    Link link = conv2d_link(parameter(0), parameter(1), params_);
    link.layer = name();
    return link;
  }

 private:
  Conv2dParams params_;
};

}  // namespace skyline
