#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace skyline {

// A failed call of the CUDA runtime: "[cudaMemcpyAsync] an illegal memory access …".
class CudaError : public std::runtime_error {
 public:
  CudaError(const std::string& call, cudaError_t code)
      : std::runtime_error("[" + call + "] " + cudaGetErrorString(code)), code_(code) {}
  cudaError_t code() const noexcept { return code_; }

 private:
  cudaError_t code_;
};

// Throws CudaError unless `code` is success.
inline void check_cuda(cudaError_t code, const char* call) {
  if (code != cudaSuccess) throw CudaError(call, code);
}

}  // namespace skyline
