#pragma once

#include "framework/apply.h"

namespace skyline {

struct LocalResponseNormParams {
  int size = 5;  // channels in a window, odd
  float k = 2;
  float alpha = 1e-4f;  // factor of each square, not divided by size
  float beta = 0.75f;
};

// Normalization across neighbouring channels (Krizhevsky et al. 2012, section 3.3):
//
//   y[c] = x[c] / s[c]^beta with s[c] = k + alpha * sum of x[d]^2 over |d - c| <= size / 2
//
// x and y f32 [N, C, H, W]; channels outside [0, C) count as 0. Retains only x: backward computes s
// again. oneDNN 2.6's kernel retains two more tensors of x's size and is slower: at 16 x 96 x 55 x
// 55 on two cores 6.4 + 2.1 ms forward and backward, here 1.6 + 2.7 ms. Writes over x in inference;
// backward writes grad_input over grad_output, else over x. No workspace. Vectorized only for
// window 5 and exponent 0.75. Throws ShapeError, also unless size is odd and 1 to 63, and
// std::invalid_argument unless k > 0 and alpha, beta >= 0.
Tensor local_response_norm(Context& context, Tensor x, LocalResponseNormParams params = {});

// Returns what local_response_norm() applies.
Link local_response_norm_link(LocalResponseNormParams params = {});

}  // namespace skyline
