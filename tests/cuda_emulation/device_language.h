#pragma once

// The additions of CUDA C++ to the language, for a host compiler. Blocks run one at a time; the
// threads of a block are fibers that yield only at barriers.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

#define __global__
#define __device__
#define __host__
// shared_memory.ld gathers these sections. g++ 12 drops `section` from the statics of templates,
// but not `noinit`.
#ifdef __clang__
#define __shared__ static __attribute__((section(".noinit")))
#else
#define __shared__ static __attribute__((noinit))
#endif
#define __constant__ static
#define __forceinline__ inline
#define __launch_bounds__(...)

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x_in = 1, unsigned y_in = 1, unsigned z_in = 1)
      : x(x_in), y(y_in), z(z_in) {}
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

inline constexpr int warpSize = 32;
inline uint3 threadIdx{}, blockIdx{};
inline dim3 blockDim, gridDim;

namespace cuda_emulation {

// A place in the source, which identifies a barrier.
struct Place {
  const char* file;
  int line;
  bool operator==(const Place&) const = default;
};

// Waits for all threads of the block.
void block_barrier(Place place);
// Waits for the lanes of `mask` in this thread's warp.
void warp_barrier(unsigned mask, Place place);
// Waits like warp_barrier, then returns the `value` of lane `source`.
std::uint64_t exchange(unsigned mask, std::uint64_t value, int source, Place place);
int lane();

// Returns `source` if it is in this lane's part of `width` lanes, else this lane.
inline int within(int source, int width) {
  return source >= 0 && source / width == lane() / width ? source : lane();
}

template <typename T>
T shuffle(unsigned mask, T value, int source, Place place) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = exchange(mask, bits, source, place);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace cuda_emulation

inline void __syncthreads(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  cuda_emulation::block_barrier({file, line});
}
inline void __syncwarp(unsigned mask = ~0u, const char* file = __builtin_FILE(),
                       int line = __builtin_LINE()) {
  cuda_emulation::warp_barrier(mask, {file, line});
}
template <typename T>
T __shfl_sync(unsigned mask, T value, int source, int width = warpSize,
              const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const int first = cuda_emulation::lane() / width * width;
  return cuda_emulation::shuffle(mask, value, first + source % width, {file, line});
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = warpSize,
                  const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const int source = cuda_emulation::within(cuda_emulation::lane() ^ lanes, width);
  return cuda_emulation::shuffle(mask, value, source, {file, line});
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned lanes, int width = warpSize,
                   const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const int source =
      cuda_emulation::within(cuda_emulation::lane() + static_cast<int>(lanes), width);
  return cuda_emulation::shuffle(mask, value, source, {file, line});
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned lanes, int width = warpSize,
                 const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const int source =
      cuda_emulation::within(cuda_emulation::lane() - static_cast<int>(lanes), width);
  return cuda_emulation::shuffle(mask, value, source, {file, line});
}

// Threads of a grid run one after another.
inline unsigned long long atomicMin(unsigned long long* address, unsigned long long value) {
  const unsigned long long before = *address;
  if (value < before) *address = value;
  return before;
}
template <typename T>
T __ldg(const T* address) {
  return *address;
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>((std::uint64_t{a} * b) >> 32);
}
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
// min and max are missing on purpose: unqualified calls inside namespaces then find std's only
// through their arguments, while CUDA's would hide a missing std:: from host compilers.
