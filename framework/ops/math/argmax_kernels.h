#pragma once

#include <cstdint>
#include <memory>

#include "framework/kernel.h"

namespace skyline {

// Input f32 [rows, columns]; output i32 [rows].
std::unique_ptr<Kernel> make_argmax_cpu(std::int64_t rows, std::int64_t columns);
CUDA_ONLY std::unique_ptr<Kernel> make_argmax_cuda(CudaCompute& compute, std::int64_t rows,
                                                   std::int64_t columns);

}  // namespace skyline
