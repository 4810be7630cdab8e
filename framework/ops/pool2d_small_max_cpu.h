#pragma once

#include <memory>

#include "framework/ops/pool2d_kernels.h"

namespace skyline {

// Max pooling by windows of at most 9 pixels, as all the networks do. oneDNN 2.6's jit:avx512_core
// takes 4 to 6 times as long forward and 2 to 4 times backward (see kernels_benchmark).
bool is_small_max_pool2d(const Pool2dProblem& problem);

// Operands as of make_max_pool2d_cpu and make_max_pool2d_grad_cpu, which choose these kernels for
// small windows.
std::unique_ptr<Kernel> make_small_max_pool2d_cpu(const Pool2dProblem& problem, bool argmax);
std::unique_ptr<Kernel> make_small_max_pool2d_grad_cpu(const Pool2dProblem& problem);

}  // namespace skyline
