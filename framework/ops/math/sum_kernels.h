#pragma once

#include <cstdint>
#include <memory>

#include "framework/kernel.h"

namespace skyline {

// output = input 0 + input 1 + …, added in this order; the output may be any input.
std::unique_ptr<Kernel> make_sum_cpu(std::int64_t elements, int inputs);
CUDA_ONLY std::unique_ptr<Kernel> make_sum_cuda(CudaCompute& compute, std::int64_t elements,
                                                int inputs);

}  // namespace skyline
