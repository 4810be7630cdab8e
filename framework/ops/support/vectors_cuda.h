#pragma once

#include <cstdint>
#include <type_traits>

#include "framework/cuda/launch.h"

// For CUDA sources only. Memory is fastest when neighbouring threads move neighbouring 16 bytes.
// All tensors start at multiples of kAlignmentBytes, so extents alone decide where that is
// possible.

namespace skyline {

// Neighbours in memory that one instruction loads or stores.
template <typename T, int kWidth>
struct alignas(sizeof(T) * kWidth) Vector {
  T at[kWidth];
};

template <int kWidth, typename T>
__device__ Vector<T, kWidth> load(const T* from) {
  return *reinterpret_cast<const Vector<T, kWidth>*>(from);
}

template <typename T, int kWidth>
__device__ void store(T* to, const Vector<T, kWidth>& values) {
  *reinterpret_cast<Vector<T, kWidth>*>(to) = values;
}

template <int kWidth>
__device__ Vector<float, kWidth> vector_of(float value) {
  Vector<float, kWidth> result;
  for (int k = 0; k < kWidth; ++k) result.at[k] = value;
  return result;
}

inline constexpr int kFloats = 4;  // of 16 bytes

template <int kWidth>
using Width = std::integral_constant<int, kWidth>;

// Calls body(Width<4>) if all extents of rows are multiples of 4 floats, else body(Width<1>).
template <typename Body>
void with_width(bool multiples_of_four, const Body& body) {
  if (multiples_of_four) {
    body(Width<kFloats>{});
  } else {
    body(Width<1>{});
  }
}

template <typename Function>
__global__ void for_each_vector_kernel(std::int64_t count, Function function) {
  const std::int64_t thread = thread_of_grid(), vectors = count / kFloats;
  if (thread < vectors) function.template run<kFloats>(thread * kFloats);
  const std::int64_t rest = vectors * kFloats + thread;
  if (rest < count) function.template run<1>(rest);
}

// Calls function.run<kWidth>(i) for elements i … i + kWidth - 1, with width 4 and, for the last
// few, 1, until all `count` elements are done. `function` is copied to the device.
template <typename Function>
void for_each_vector(CudaCompute& compute, std::int64_t count, Function function) {
  if (count == 0) return;
  launch(compute, blocks_for((count + kFloats - 1) / kFloats), kThreads,
         for_each_vector_kernel<Function>, count, function);
}

}  // namespace skyline
