#pragma once

#include <memory>

#include "framework/cuda/cuda_compute.h"
#include "framework/kernel.h"

namespace skyline {

// Returns a kernel: value = value * factor + run value (0.5 if there is none). `fault`, if not
// null, is called where the kernel runs.
std::shared_ptr<Kernel> make_multiply_add(CudaCompute& compute, float factor,
                                          void (*fault)(CudaCompute&) = nullptr);

}  // namespace skyline
