#pragma once

#include <cstdint>
#include <memory>

#include "framework/kernel.h"

namespace skyline {

// Input f32 of `elements` elements; output f32 [1].
std::unique_ptr<Kernel> make_sum_of_squares_cpu(std::int64_t elements);
CUDA_ONLY std::unique_ptr<Kernel> make_sum_of_squares_cuda(CudaCompute& compute,
                                                           std::int64_t elements);

// `sums` inputs f32 [1], sums of squares; output f32 [1].
std::unique_ptr<Kernel> make_clip_factor_cpu(std::size_t sums, float max_norm);
CUDA_ONLY std::unique_ptr<Kernel> make_clip_factor_cuda(CudaCompute& compute, std::size_t sums,
                                                        float max_norm);

}  // namespace skyline
