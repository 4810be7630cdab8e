#include "tests/framework/reference/conv2d.h"

namespace skyline::reference {
namespace {

// Calls visit(n, o, oh, ow, c, kh, kw, in, h, w) for every product of a convolution: the weight
// (o, c, kh, kw) meets the pixel (n, in, h, w) in the output (n, o, oh, ow). Channel c of a weight
// in group g is the input's channel in = g C / groups + c.
template <typename Visit>
void for_each_product(const Shape& x, const Shape& weight, const Shape& y,
                      const Conv2dParams& params, Visit visit) {
  for (std::int64_t n = 0; n < y[0]; ++n)
    for (std::int64_t o = 0; o < y[1]; ++o)
      for (std::int64_t oh = 0; oh < y[2]; ++oh)
        for (std::int64_t ow = 0; ow < y[3]; ++ow)
          for (std::int64_t c = 0; c < weight[1]; ++c)
            for (std::int64_t kh = 0; kh < weight[2]; ++kh)
              for (std::int64_t kw = 0; kw < weight[3]; ++kw) {
                const std::int64_t h = oh * params.stride.height - params.padding.height + kh;
                const std::int64_t w = ow * params.stride.width - params.padding.width + kw;
                if (h < 0 || h >= x[2] || w < 0 || w >= x[3]) continue;
                const std::int64_t group = o / (weight[0] / params.groups);
                visit(n, o, oh, ow, c, kh, kw, group * weight[1] + c, h, w);
              }
}

}  // namespace

HostTensor conv2d(const HostTensor& x, const HostTensor& weight, const HostTensor& bias,
                  const Conv2dParams& params) {
  const auto extent = [&](int axis, int stride, int padding) {
    return (x.shape[axis] + 2 * padding - weight.shape[axis]) / stride + 1;
  };
  HostTensor y(Shape{x.shape[0], weight.shape[0],
                     extent(2, params.stride.height, params.padding.height),
                     extent(3, params.stride.width, params.padding.width)});
  if (!bias.values.empty()) {
    const std::int64_t pixels = y.shape[2] * y.shape[3];
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      y.values[i] = bias[(static_cast<std::int64_t>(i) / pixels) % y.shape[1]];
    }
  }
  for_each_product(
      x.shape, weight.shape, y.shape, params,
      [&](auto n, auto o, auto oh, auto ow, auto c, auto kh, auto kw, auto in, auto h, auto w) {
        y.at(n, o, oh, ow) += weight.at(o, c, kh, kw) * x.at(n, in, h, w);
      });
  return y;
}

Conv2dGradients conv2d_gradients(const HostTensor& x, const HostTensor& weight,
                                 const HostTensor& grad_output, const Conv2dParams& params) {
  Conv2dGradients gradients{HostTensor(x.shape), HostTensor(weight.shape),
                            HostTensor(Shape{weight.shape[0]})};
  for_each_product(
      x.shape, weight.shape, grad_output.shape, params,
      [&](auto n, auto o, auto oh, auto ow, auto c, auto kh, auto kw, auto in, auto h, auto w) {
        const double grad = grad_output.at(n, o, oh, ow);
        gradients.x.at(n, in, h, w) += grad * weight.at(o, c, kh, kw);
        gradients.weight.at(o, c, kh, kw) += grad * x.at(n, in, h, w);
      });
  const std::int64_t pixels = grad_output.shape[2] * grad_output.shape[3];
  for (std::size_t i = 0; i < grad_output.values.size(); ++i) {
    gradients.bias[(static_cast<std::int64_t>(i) / pixels) % weight.shape[0]] +=
        grad_output.values[i];
  }
  return gradients;
}

}  // namespace skyline::reference
