#pragma once

#include <cstdint>
#include <memory>

#include "framework/kernel.h"

namespace skyline {

std::unique_ptr<Kernel> make_fill_cpu(std::int64_t elements, float value);
CUDA_ONLY std::unique_ptr<Kernel> make_fill_cuda(CudaCompute& compute, std::int64_t elements,
                                                 float value);

}  // namespace skyline
