#pragma once

#include <thrust/execution_policy.h>

#ifdef __CUDACC__
#include <thrust/system/cuda/execution_policy.h>
#endif

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "framework/cuda/launch.h"
#include "memory/alignment.h"

// For CUDA sources only.

namespace skyline {

// Hands a kernel's workspace to Thrust as its temporary storage, so that Thrust requests no memory.
class ThrustStorage {
 public:
  using value_type = char;

  ThrustStorage() = default;
  ThrustStorage(std::byte* begin, std::size_t bytes) : next_(begin), left_(bytes) {}

  // Throws std::runtime_error if it is used up.
  char* allocate(std::size_t bytes) {
    const std::size_t rounded = align_up(bytes, kAlignment);
    if (rounded > left_) {
      throw std::runtime_error("[thrust] needs " + std::to_string(rounded) +
                               " bytes of temporary storage, " + std::to_string(left_) +
                               " bytes of the workspace are left");
    }
    auto* const block = reinterpret_cast<char*>(next_);
    next_ += rounded;
    left_ -= rounded;
    return block;
  }
  void deallocate(char*, std::size_t) noexcept {}  // ends with the kernel's run

 private:
  static constexpr std::size_t kAlignment = 256;

  std::byte* next_ = nullptr;
  std::size_t left_ = 0;
};

// Returns how much storage a sort of `count` 4-byte keys with 4-byte values may take: a copy of
// both, and the counts of CUB's radix sort: 10 KiB, and 1 KiB for each tile of keys. Tiles depend
// on the card; in the toolkit 13.0 they have 6528 keys or more, from compute capability 7.5
// to 12.0. CUB tells its bytes only where there is a card, and a plan must not need one, so this is
// a bound, with tiles of 1024 keys.
constexpr std::size_t thrust_sort_bytes(std::int64_t count) {
  return static_cast<std::size_t>(count) * (2 * sizeof(std::int32_t) + 1) + (std::size_t{16} << 10);
}

#ifdef __CUDACC__

// Calls body(policy). Algorithms of Thrust with that policy are enqueued on the stream of
// `compute`, but those that return what they compute wait for it. `body` is copied to the emulated
// device: it captures by value. Throws CudaError, and what `storage` throws.
template <typename Body>
void run_thrust(CudaCompute& compute, ThrustStorage storage, const Body& body) {
  try {
    body(thrust::cuda::par_nosync(storage).on(compute.stream()));
  } catch (const thrust::system_error& error) {
    throw CudaError("thrust", static_cast<cudaError_t>(error.code().value()));
  }
}

#else

// Host compilers know no kernels of Thrust: one thread of the emulated device runs the algorithms.
template <typename Body>
__global__ void thrust_kernel(ThrustStorage storage, Body body) {
  body(thrust::seq(storage));
}

template <typename Body>
void run_thrust(CudaCompute& compute, ThrustStorage storage, const Body& body) {
  launch(compute, 1, 1, thrust_kernel<Body>, storage, body);
}

#endif

}  // namespace skyline
