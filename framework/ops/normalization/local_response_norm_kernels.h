#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "framework/host_device.h"
#include "framework/kernel.h"
#include "framework/ops/normalization/local_response_norm.h"

namespace skyline {

// `pixels` rows of `channels` floats, each normalized by itself.
struct LocalResponseNormProblem {
  std::int64_t pixels = 0;
  std::int64_t channels = 0;
  LocalResponseNormParams params;
};
inline constexpr int kLocalResponseNormMaxSize = 63;

// s^-beta and 1 / s.
struct Powers {
  float normal;
  float reciprocal;
};

// For any beta.
struct AnyPower {
  float beta;
  SKYLINE_HOST_DEVICE Powers operator()(float s) const { return {std::pow(s, -beta), 1 / s}; }
};

// For beta 0.75, computed from r = s^-1/4, which vectorizes without roots and divisions: the
// exponent's bits give r within 3.2 % (the constant was found by search), and three steps of
// Newton's method for r^-4 = s bring it within 2e-7. With square roots the whole op takes 4 times
// as long.
struct ThreeQuarters {
  SKYLINE_HOST_DEVICE Powers operator()(float s) const {
    float r = std::bit_cast<float>(0x4f586000u - (std::bit_cast<std::uint32_t>(s) >> 2));
    for (int step = 0; step < 3; ++step) r *= 1.25f - 0.25f * (s * r * r) * (r * r);
    return {r * r * r, (r * r) * (r * r)};
  }
};

// `Half` is a window's size / 2: an int, or an integral_constant, which lets loops unroll.
template <typename Half>
SKYLINE_HOST_DEVICE float window_sum(const float* first, Half half) {
  float sum = 0;
  for (int k = 0; k <= 2 * half; ++k) sum += first[k];
  return sum;
}

// Returns body(half, power). The papers' window and exponent unroll, on the CPU they vectorize,
// too; all others run slower.
template <typename Body>
auto with_window(const LocalResponseNormParams& params, const Body& body) {
  if (params.size == 5 && params.beta == 0.75f) {
    return body(std::integral_constant<int, 2>{}, ThreeQuarters{});
  }
  return body(params.size / 2, AnyPower{params.beta});
}

// Input x; output y, which may be x.
CpuMaker<LocalResponseNormProblem> make_local_response_norm_cpu;
CUDA_ONLY CudaMaker<LocalResponseNormProblem> make_local_response_norm_cuda;

// Inputs x, grad_output; output grad_input, which may be either:
//   grad_input[c] = grad_output[c] * s[c]^-beta
//                   - 2 alpha beta x[c] * sum of grad_output[d] * x[d] * s[d]^(-beta - 1)
CpuMaker<LocalResponseNormProblem> make_local_response_norm_grad_cpu;
CUDA_ONLY CudaMaker<LocalResponseNormProblem> make_local_response_norm_grad_cuda;

}  // namespace skyline
