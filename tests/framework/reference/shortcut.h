#pragma once

#include "tests/framework/host_tensor.h"

namespace skyline::reference {

// y[n, c, i, j] = x[n, c, stride i, stride j] for c < C, else 0.
inline HostTensor shortcut(const HostTensor& x, int stride, int channels) {
  const Shape& in = x.shape;
  HostTensor y({in[0], channels, (in[2] - 1) / stride + 1, (in[3] - 1) / stride + 1});
  for (std::int64_t n = 0; n < in[0]; ++n) {
    for (std::int64_t c = 0; c < in[1]; ++c) {
      for (std::int64_t i = 0; i < y.shape[2]; ++i) {
        for (std::int64_t j = 0; j < y.shape[3]; ++j) {
          y.at(n, c, i, j) = x.at(n, c, stride * i, stride * j);
        }
      }
    }
  }
  return y;
}

}  // namespace skyline::reference
