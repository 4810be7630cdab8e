#pragma once

#include <vector>

#include "tests/framework/host_tensor.h"

namespace skyline::reference {

// [N, C_i, H, W] or [N, K_i], joined along axis 1.
inline HostTensor concat(const std::vector<HostTensor>& xs) {
  const Shape& first = xs[0].shape;
  std::int64_t width = 0, pixels = 1;
  for (const HostTensor& x : xs) width += x.shape[1];
  if (first.rank() == 4) pixels = first[2] * first[3];
  HostTensor y(first.rank() == 4 ? Shape{first[0], width, first[2], first[3]}
                                 : Shape{first[0], width});
  std::int64_t next = 0;
  for (std::int64_t n = 0; n < first[0]; ++n) {
    for (const HostTensor& x : xs) {
      const std::int64_t count = x.shape[1] * pixels;
      for (std::int64_t i = 0; i < count; ++i) y[next++] = x[n * count + i];
    }
  }
  return y;
}

}  // namespace skyline::reference
