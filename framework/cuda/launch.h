#pragma once

#include <cstdint>
#include <utility>

#include "framework/cuda/cuda_compute.h"
#include "framework/cuda/cuda_error.h"
#include "framework/kernel.h"

// For CUDA sources only. Kernels are launched by these functions, not by <<<…>>>, which a host
// compiler cannot parse: tests compile the same sources for the host and run them there.

namespace skyline {

inline constexpr unsigned kThreads = 256;  // a block
// Limit of a grid along y or z. Along x it is 2^31 - 1, more than fits in memory.
inline constexpr unsigned kMostBlocks = 65535;

// Launches kernel(arguments…) with grid × block threads on a stream.
template <typename... Parameters, typename... Arguments>
void launch_on(cudaStream_t stream, dim3 grid, dim3 block, void (*kernel)(Parameters...),
               Arguments&&... arguments) {
  cudaLaunchConfig_t config = {};
  config.gridDim = grid;
  config.blockDim = block;
  config.stream = stream;
  check_cuda(cudaLaunchKernelEx(&config, kernel, Parameters(std::forward<Arguments>(arguments))...),
             "cudaLaunchKernelEx");
}

// Launches on the stream of `compute`.
template <typename... Parameters, typename... Arguments>
void launch(CudaCompute& compute, dim3 grid, dim3 block, void (*kernel)(Parameters...),
            Arguments&&... arguments) {
  launch_on(compute.stream(), grid, block, kernel, std::forward<Arguments>(arguments)...);
}

// Returns the grid of blocks of kThreads for `count` threads.
inline dim3 blocks_for(std::int64_t count) {
  return dim3(static_cast<unsigned>((count + kThreads - 1) / kThreads));
}

// Returns this thread's number along x.
__device__ inline std::int64_t thread_of_grid() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

// Notes that `value` of that row is out of range; the smallest row counts. See WrongValues.
__device__ inline void note_wrong_value(unsigned long long* place, std::int64_t row,
                                        std::int32_t value) {
  atomicMin(place, static_cast<unsigned long long>(row) << 32 | static_cast<std::uint32_t>(value));
}

// A run value of one number: an argument of the launch or, in a captured launch, device memory.
template <typename T>
struct RunNumber {
  T value;
  const T* at;  // null: `value`

  __device__ T get() const { return at == nullptr ? value : *at; }
};

// `own` is what the kernel was made with.
template <typename T>
RunNumber<T> run_number(const KernelArguments& arguments, T own) {
  return {arguments.run_value.value_or(own), reinterpret_cast<const T*>(arguments.run_value_at)};
}

template <typename Function>
__global__ void __launch_bounds__(kThreads) for_each_kernel(std::int64_t count, Function function) {
  const std::int64_t i = thread_of_grid();
  if (i < count) function(i);
}

// Runs function(0) … function(count - 1), one thread each. `function` is copied to the device.
template <typename Function>
void for_each_index(CudaCompute& compute, std::int64_t count, Function function) {
  if (count == 0) return;
  launch(compute, blocks_for(count), kThreads, for_each_kernel<Function>, count, function);
}

}  // namespace skyline
