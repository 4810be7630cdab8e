#pragma once

#include <cuda_runtime.h>

#include <memory>

#include "framework/cuda/cublas/cublas_products.h"
#include "framework/cuda/cudnn/cudnn_library.h"

namespace skyline {

// The libraries of one compute object, loaded on first use: a dry run needs no cuBLAS, whose
// loading takes 60 ms. make_cuda_compute() uses both where there is a device.
class CudaLibraries {
 public:
  CudaLibraries(cudaStream_t stream, const CudaOptions& options)
      : stream_(stream), options_(options) {}
  CublasProducts& products();
  CudnnLibrary& cudnn();

 private:
  cudaStream_t stream_;
  CudaOptions options_;
  std::unique_ptr<CublasProducts> products_;
  std::unique_ptr<CudnnLibrary> cudnn_;
};

}  // namespace skyline
