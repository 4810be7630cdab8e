#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "framework/kernel.h"
#include "framework/lanes/wide_op.h"

namespace skyline {

// Below this many elements one thread is faster than waking the others (0.9 us here). Measured on
// two cores of a Zen 5 with AVX-512: an addition breaks even at 16384 elements; a vectorized tanh
// at 4096.
inline constexpr std::int64_t kSerialArithmetic = 16384;
inline constexpr std::int64_t kSerialTranscendental = 4096;
// Elements of whole vectors and whole lines of the cache: a range of elements that begins at a
// multiple computes each with the instructions that one range would take.
inline constexpr std::int64_t kVectors = 64;

// Calls body(begin, end) for ranges that together are [0, count): on several threads if `parallel`,
// on all lanes in a wide op. A range begins at a multiple of `grain`.
template <typename Body>
void for_each_range(std::int64_t count, bool parallel, std::int64_t grain, const Body& body) {
  if (!parallel) return body(std::int64_t{0}, count);
  if (WideOp::running()) {
    return WideOp::share(count, grain,
                         [&body](std::int64_t begin, std::int64_t end) { body(begin, end); });
  }
  const std::int64_t grains = (count + grain - 1) / grain, threads = omp_get_max_threads();
#pragma omp parallel for schedule(static)
  for (std::int64_t thread = 0; thread < threads; ++thread) {
    const auto begin = [&](std::int64_t of) {
      return std::min(count, of * grains / threads * grain);
    };
    body(begin(thread), begin(thread + 1));
  }
}

// Calls body(0) … body(count - 1), each once, as for_each_range() does. Does not use OpenMP's `if`
// clause, which sets up a team of one for every small array (0.8 us).
template <typename Body>
void for_each_index(std::int64_t count, bool parallel, const Body& body) {
  for_each_range(count, parallel, 1, [&body](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) body(i);
  });
}

// output[i] = function(input0[i]) or function(input0[i], input1[i]); the output may be an input.
// Below `serial_below` elements, one thread computes all.
template <typename Function>
std::unique_ptr<Kernel> make_elementwise_cpu(std::int64_t elements, std::int64_t serial_below,
                                             Function function) {
  return make_kernel([=](const KernelArguments& arguments) {
    const float* first = arguments.input<float>(0);
    float* output = arguments.output<float>(0);
    for_each_range(elements, elements >= serial_below, kVectors, [&](auto begin, auto end) {
      if constexpr (std::is_invocable_v<Function, float>) {
        std::transform(first + begin, first + end, output + begin, function);
      } else {
        std::transform(first + begin, first + end, arguments.input<float>(1) + begin,
                       output + begin, function);
      }
    });
  });
}

}  // namespace skyline
