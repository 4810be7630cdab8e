#include "framework/cuda/cuda_compute.h"

#include <stdexcept>
#include <string>

#include "framework/cuda/cuda_error.h"

namespace skyline {
namespace {

__global__ void any_kernel() {}

}  // namespace

void require_kernel_image() {
  cudaFuncAttributes attributes;
  const cudaError_t found = cudaFuncGetAttributes(&attributes, any_kernel);
  if (found != cudaErrorNoKernelImageForDevice) return check_cuda(found, "cudaFuncGetAttributes");
  cudaGetLastError();
  int device = 0, major = 0, minor = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  const std::string card = std::to_string(major), of_card = std::to_string(minor);
  throw std::runtime_error("[--device cuda] this build has no kernels for compute capability " +
                           card + "." + of_card + ": configure it with CMAKE_CUDA_ARCHITECTURES=" +
                           card + of_card + " or the preset all-cards");
}

}  // namespace skyline
