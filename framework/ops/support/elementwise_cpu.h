#pragma once

#include <thrust/execution_policy.h>
#include <thrust/transform.h>

#include <cstdint>
#include <memory>

#include "framework/kernel.h"

namespace skyline {

// Below this many elements one thread is faster than waking the others (0.9 us here). Measured on
// two cores of a Zen 5 with AVX-512: an addition breaks even at 16384 elements; a vectorized tanh
// at 4096.
inline constexpr std::int64_t kSerialArithmetic = 16384;
inline constexpr std::int64_t kSerialTranscendental = 4096;

// Calls body(policy): on this thread below `serial_below` elements, else on all OpenMP threads.
template <typename Body>
void with_policy(std::int64_t elements, std::int64_t serial_below, const Body& body) {
  if (elements < serial_below) {
    body(thrust::seq);
  } else {
    body(thrust::omp::par);
  }
}

// Calls body(0) … body(count - 1), on several threads if `parallel`. Does not use OpenMP's `if`
// clause, which sets up a team of one for every small array (0.8 us).
template <typename Body>
void for_each_index(std::int64_t count, bool parallel, const Body& body) {
  if (!parallel) {
    for (std::int64_t i = 0; i < count; ++i) body(i);
    return;
  }
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < count; ++i) body(i);
}

// output[i] = function(input0[i]) or function(input0[i], input1[i]); the output may be an input.
template <int kInputs, typename Function>
class ElementwiseKernelCpu : public Kernel {
 public:
  static_assert(kInputs == 1 || kInputs == 2);
  ElementwiseKernelCpu(std::int64_t elements, std::int64_t serial_below, Function function)
      : elements_(elements), serial_below_(serial_below), function_(function) {}

  void run(const KernelArguments& arguments) override {
    const float* first = arguments.input<float>(0);
    float* output = arguments.output<float>(0);
    with_policy(elements_, serial_below_, [&](const auto& policy) {
      if constexpr (kInputs == 1) {
        thrust::transform(policy, first, first + elements_, output, function_);
      } else {
        const float* second = arguments.input<float>(1);
        thrust::transform(policy, first, first + elements_, second, output, function_);
      }
    });
  }

 private:
  std::int64_t elements_;
  std::int64_t serial_below_;
  Function function_;
};

template <int kInputs, typename Function>
std::unique_ptr<Kernel> make_elementwise_cpu(std::int64_t elements, std::int64_t serial_below,
                                             Function function) {
  return std::make_unique<ElementwiseKernelCpu<kInputs, Function>>(elements, serial_below,
                                                                   function);
}

}  // namespace skyline
