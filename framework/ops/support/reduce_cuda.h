#pragma once

#include "framework/cuda/launch.h"

// For CUDA sources only.

namespace skyline {

inline constexpr unsigned kWarp = 32;                 // threads
inline constexpr unsigned kWholeWarp = ~0u;           // its threads
inline constexpr unsigned kMostWarps = 1024 / kWarp;  // of a block

// How values of many threads are combined: associative and commutative up to rounding.
template <typename T>
struct Adding {
  using Value = T;
  static __device__ T other(T value, int threads) {
    return __shfl_xor_sync(kWholeWarp, value, threads);
  }
  static __device__ T combine(T a, T b) { return a + b; }
};

// All threads of a whole warp must call it; the first one's result counts.
template <typename Reduction>
__device__ typename Reduction::Value reduce_warp(typename Reduction::Value value) {
  for (int threads = kWarp / 2; threads > 0; threads /= 2) {
    value = Reduction::combine(value, Reduction::other(value, threads));
  }
  return value;
}

// All threads of a block of whole warps along x must call it and get the same bits, always added in
// the same order: each warp by a tree, then the warps one after the other.
template <typename Reduction>
__device__ typename Reduction::Value reduce_block(typename Reduction::Value value) {
  __shared__ typename Reduction::Value warps[kMostWarps];
  value = reduce_warp<Reduction>(value);
  __syncthreads();  // the last call's values have been read
  if (threadIdx.x % kWarp == 0) warps[threadIdx.x / kWarp] = value;
  __syncthreads();
  value = warps[0];
  for (unsigned warp = 1; warp < blockDim.x / kWarp; ++warp) {
    value = Reduction::combine(value, warps[warp]);
  }
  return value;
}

}  // namespace skyline
