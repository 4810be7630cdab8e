#pragma once

#include <cstdint>
#include <memory>

#include "framework/kernel.h"

namespace skyline {

// Input f32 [rows, columns]; output of the same shape, which may be the input.
std::unique_ptr<Kernel> make_log_softmax_cpu(std::int64_t rows, std::int64_t columns);
CUDA_ONLY std::unique_ptr<Kernel> make_log_softmax_cuda(CudaCompute& compute, std::int64_t rows,
                                                        std::int64_t columns);

}  // namespace skyline
