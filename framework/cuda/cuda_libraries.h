#pragma once

#include <cuda_runtime.h>

#include <memory>

#include "framework/cuda/cublas/cublas_products.h"
#include "framework/cuda/cudnn/cudnn_library.h"

namespace skyline {

// The libraries of one compute object, loaded on first use: loading cuBLAS takes 60 ms.
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
