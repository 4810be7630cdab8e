#pragma once

#include <limits>

#include "framework/ops/pooling/pool2d.h"
#include "tests/framework/host_tensor.h"

namespace skyline::reference {

// Counts windows along one axis by trying: another window is added while the one before left pixels
// (ceil) or while a whole one fits (floor), if it begins before the far edge of the image.
inline std::int64_t count_windows(std::int64_t image, int kernel, int stride, int padding,
                                  bool ceil_mode) {
  std::int64_t count = 0;
  for (std::int64_t begin = -padding; begin < image; begin += stride) {
    const bool whole = begin + kernel <= image + padding;
    const bool pixels_left = count == 0 || begin - stride + kernel < image + padding;
    if (!(whole || (ceil_mode && pixels_left))) break;
    ++count;
  }
  return count;
}

inline Shape pooled_shape(const Shape& x, const Pool2dParams& p) {
  return {x[0], x[1],
          count_windows(x[2], p.kernel.height, p.stride.height, p.padding.height, p.ceil_mode),
          count_windows(x[3], p.kernel.width, p.stride.width, p.padding.width, p.ceil_mode)};
}

// Calls visit(h, w, index) for the pixels of window (oh, ow), row by row; index counts padding too.
template <typename Visit>
void for_each_pixel(const Shape& x, const Pool2dParams& p, std::int64_t oh, std::int64_t ow,
                    Visit visit) {
  for (int kh = 0; kh < p.kernel.height; ++kh)
    for (int kw = 0; kw < p.kernel.width; ++kw) {
      const std::int64_t h = oh * p.stride.height - p.padding.height + kh;
      const std::int64_t w = ow * p.stride.width - p.padding.width + kw;
      if (h < 0 || h >= x[2] || w < 0 || w >= x[3]) continue;
      visit(h, w, kh * p.kernel.width + kw);
    }
}

template <typename Visit>
void for_each_window(const Shape& y, Visit visit) {
  for (std::int64_t n = 0; n < y[0]; ++n)
    for (std::int64_t c = 0; c < y[1]; ++c)
      for (std::int64_t oh = 0; oh < y[2]; ++oh)
        for (std::int64_t ow = 0; ow < y[3]; ++ow) visit(n, c, oh, ow);
}

struct MaxPooled {
  HostTensor y, argmax;
};

// Strides must be given. The first of equal values wins.
inline MaxPooled max_pool2d(const HostTensor& x, const Pool2dParams& params) {
  const Shape shape = pooled_shape(x.shape, params);
  MaxPooled result{HostTensor(shape, -std::numeric_limits<double>::infinity()), HostTensor(shape)};
  for_each_window(shape, [&](auto n, auto c, auto oh, auto ow) {
    for_each_pixel(x.shape, params, oh, ow, [&](auto h, auto w, int index) {
      if (x.at(n, c, h, w) <= result.y.at(n, c, oh, ow)) return;
      result.y.at(n, c, oh, ow) = x.at(n, c, h, w);
      result.argmax.at(n, c, oh, ow) = index;
    });
  });
  return result;
}

inline HostTensor max_pool2d_grad(const HostTensor& x, const HostTensor& grad_output,
                                  const Pool2dParams& params) {
  const HostTensor argmax = max_pool2d(x, params).argmax;
  HostTensor grad_input(x.shape);
  for_each_window(grad_output.shape, [&](auto n, auto c, auto oh, auto ow) {
    for_each_pixel(x.shape, params, oh, ow, [&](auto h, auto w, int index) {
      if (index == argmax.at(n, c, oh, ow))
        grad_input.at(n, c, h, w) += grad_output.at(n, c, oh, ow);
    });
  });
  return grad_input;
}

inline int pixels_inside(const Shape& x, const Pool2dParams& params, std::int64_t oh,
                         std::int64_t ow) {
  int count = 0;
  for_each_pixel(x, params, oh, ow, [&](auto, auto, int) { ++count; });
  return count;
}

// The mean of the pixels inside the image.
inline HostTensor average_pool2d(const HostTensor& x, const Pool2dParams& params) {
  HostTensor y(pooled_shape(x.shape, params));
  for_each_window(y.shape, [&](auto n, auto c, auto oh, auto ow) {
    const int count = pixels_inside(x.shape, params, oh, ow);
    for_each_pixel(x.shape, params, oh, ow,
                   [&](auto h, auto w, int) { y.at(n, c, oh, ow) += x.at(n, c, h, w) / count; });
  });
  return y;
}

inline HostTensor average_pool2d_grad(const Shape& x, const HostTensor& grad_output,
                                      const Pool2dParams& params) {
  HostTensor grad_input(x);
  for_each_window(grad_output.shape, [&](auto n, auto c, auto oh, auto ow) {
    const int count = pixels_inside(x, params, oh, ow);
    for_each_pixel(x, params, oh, ow, [&](auto h, auto w, int) {
      grad_input.at(n, c, h, w) += grad_output.at(n, c, oh, ow) / count;
    });
  });
  return grad_input;
}

}  // namespace skyline::reference
