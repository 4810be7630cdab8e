// Stands in for cuda_libraries.cpp in builds without CUDA.

#include <stdexcept>

#include "framework/cuda/make_cuda_compute.h"

namespace skyline {

std::unique_ptr<Compute> make_cuda_compute(const CudaOptions&) {
  throw std::runtime_error("[--device cuda] this build has no CUDA backend");
}

}  // namespace skyline
