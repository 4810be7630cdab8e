#pragma once

#include <cstdint>
#include <memory>

#include "framework/kernel.h"
#include "framework/ops/local_response_norm.h"

namespace skyline {

// `pixels` rows of `channels` floats, each normalized for itself.
struct LocalResponseNormProblem {
  std::int64_t pixels = 0;
  std::int64_t channels = 0;
  LocalResponseNormParams params;
};
inline constexpr int kLocalResponseNormMaxSize = 63;

// Input x; output y, which may be x.
std::unique_ptr<Kernel> make_local_response_norm_cpu(const LocalResponseNormProblem& problem);
std::unique_ptr<Kernel> make_local_response_norm_cuda(const LocalResponseNormProblem& problem);

// Inputs x, grad_output; output grad_input, which may be either:
//   grad_input[c] = grad_output[c] * s[c]^-beta
//                   - 2 alpha beta x[c] * sum of grad_output[d] * x[d] * s[d]^(-beta - 1)
std::unique_ptr<Kernel> make_local_response_norm_grad_cpu(const LocalResponseNormProblem& problem);
std::unique_ptr<Kernel> make_local_response_norm_grad_cuda(const LocalResponseNormProblem& problem);

}  // namespace skyline
