// The linker redirects the program's calls of these functions here (--wrap, in CMakeLists.txt).

#include <cuda_runtime.h>

#include "tests/cuda/device_calls.h"

namespace {

skyline::DeviceCalls calls;

}  // namespace

extern "C" {

cudaError_t __real_cudaMalloc(void** address, std::size_t bytes);
cudaError_t __real_cudaMallocHost(void** address, std::size_t bytes);
cudaError_t __real_cudaMallocFromPoolAsync(void** address, std::size_t bytes, cudaMemPool_t pool,
                                           cudaStream_t stream);
cudaError_t __real_cudaFree(void* address);
cudaError_t __real_cudaFreeHost(void* address);
cudaError_t __real_cudaFreeAsync(void* address, cudaStream_t stream);

cudaError_t __wrap_cudaMalloc(void** address, std::size_t bytes) {
  ++calls.allocations;
  return __real_cudaMalloc(address, bytes);
}
cudaError_t __wrap_cudaMallocHost(void** address, std::size_t bytes) {
  ++calls.allocations;
  return __real_cudaMallocHost(address, bytes);
}
cudaError_t __wrap_cudaMallocFromPoolAsync(void** address, std::size_t bytes, cudaMemPool_t pool,
                                           cudaStream_t stream) {
  ++calls.allocations;
  return __real_cudaMallocFromPoolAsync(address, bytes, pool, stream);
}
cudaError_t __wrap_cudaFree(void* address) {
  ++calls.frees;
  return __real_cudaFree(address);
}
cudaError_t __wrap_cudaFreeHost(void* address) {
  ++calls.frees;
  return __real_cudaFreeHost(address);
}
cudaError_t __wrap_cudaFreeAsync(void* address, cudaStream_t stream) {
  ++calls.frees;
  return __real_cudaFreeAsync(address, stream);
}

}  // extern "C"

namespace skyline {

DeviceCalls device_calls() { return calls; }
std::optional<std::uint64_t> kernels_outside_graphs() { return {}; }

}  // namespace skyline
