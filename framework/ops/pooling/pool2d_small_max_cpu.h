#pragma once

#include <memory>

#include "framework/ops/pooling/pool2d_kernels.h"

namespace skyline {

// Max pooling with windows of at most 9 pixels, the size all our networks use. Forward runs at the
// speed of a copy, backward at half of it; oneDNN 2.6's jit:avx512_core takes 4 to 6 times as long
// forward and 2 to 4 times backward (3 x 3 by stride 1 and 2, 64 to 832 channels, AVX-512).
bool is_small_max_pool2d(const Pool2dProblem& problem);

// Operands as for make_max_pool2d_cpu and make_max_pool2d_grad_cpu, which choose these kernels for
// small windows.
std::unique_ptr<Kernel> make_small_max_pool2d_cpu(const Pool2dProblem& problem, bool argmax);
std::unique_ptr<Kernel> make_small_max_pool2d_grad_cpu(const Pool2dProblem& problem);

}  // namespace skyline
