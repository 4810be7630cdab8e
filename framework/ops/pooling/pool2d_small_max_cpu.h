#pragma once

#include <memory>

#include "framework/ops/pooling/pool2d_kernels.h"

namespace skyline {

// Max pooling with windows of at most 9 pixels, the size all our networks use. It vectorizes over
// channels; kernels_benchmark --benchmark_filter=pool times it. That NaN wins a window takes 10 to
// 35 % of forward's time.
bool is_small_max_pool2d(const Pool2dProblem& problem);

// Operands as for make_max_pool2d_cpu and make_max_pool2d_grad_cpu, which choose these kernels for
// small windows.
std::unique_ptr<Kernel> make_small_max_pool2d_cpu(const Pool2dProblem& problem, bool argmax);
std::unique_ptr<Kernel> make_small_max_pool2d_grad_cpu(const Pool2dProblem& problem);

}  // namespace skyline
