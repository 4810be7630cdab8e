#include "framework/cuda/cuda_compute.h"

#include "framework/cuda/cuda_error.h"
#include "framework/cuda/kernel_image.h"
#include "framework/cuda/uploads.h"
#include "memory/device/cuda_memory.h"

namespace skyline {

CudaCompute::CudaCompute(const CudaOptions& options) : options_(options) {
  if (options.plan_only) return;
  require_cuda_device();
  require_kernel_image();
}

CudaCompute::~CudaCompute() {
  if (!options_.plan_only) cudaStreamSynchronize(stream());
}

void CudaCompute::write(std::byte* to, const void* host, std::size_t bytes) {
  check_cuda(cudaMemcpyAsync(to, host, bytes, cudaMemcpyHostToDevice, stream()), "cudaMemcpyAsync");
  check_cuda(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
}

void CudaCompute::upload(std::byte* to, const void* host, std::size_t bytes,
                         const Staging* staging) {
  if (!uploads_) uploads_ = std::make_unique<Uploads>(stream());
  uploads_->upload(to, host, bytes, staging);
}

void CudaCompute::read(void* host, const std::byte* from, std::size_t bytes) {
  check_cuda(cudaMemcpyAsync(host, from, bytes, cudaMemcpyDeviceToHost, stream()),
             "cudaMemcpyAsync");
  check_cuda(cudaStreamSynchronize(stream()), "cudaStreamSynchronize");
  wrong_values_.check();
}

void CudaCompute::zero(std::byte* to, std::size_t bytes) {
  check_cuda(cudaMemsetAsync(to, 0, bytes, stream()), "cudaMemsetAsync");
}

void CudaCompute::wait() { check_cuda(cudaStreamSynchronize(stream()), "cudaStreamSynchronize"); }

}  // namespace skyline
