#pragma once

#include <cstdint>
#include <memory>

#include "framework/kernel.h"
#include "framework/ops/support/vectors_cuda.h"

// For CUDA sources only.

namespace skyline {

template <int kInputs, typename Function>
struct ElementwiseBody {
  const float* first;
  const float* second;
  float* output;
  Function function;

  template <int kWidth>
  __device__ void run(std::int64_t i) const {
    auto values = load<kWidth>(first + i);
    if constexpr (kInputs == 1) {
      for (float& value : values.at) value = function(value);
    } else {
      const auto others = load<kWidth>(second + i);
      for (int k = 0; k < kWidth; ++k) values.at[k] = function(values.at[k], others.at[k]);
    }
    store(output + i, values);
  }
};

// output[i] = function(input0[i]) or function(input0[i], input1[i]); the output may be an input.
template <int kInputs, typename Function>
class ElementwiseKernelCuda : public Kernel {
 public:
  static_assert(kInputs == 1 || kInputs == 2);
  ElementwiseKernelCuda(CudaCompute& compute, std::int64_t elements, Function function)
      : compute_(compute), elements_(elements), function_(function) {}

  void run(const KernelArguments& arguments) override {
    for_each_vector(
        compute_, elements_,
        ElementwiseBody<kInputs, Function>{arguments.input<float>(0),
                                           kInputs == 2 ? arguments.input<float>(1) : nullptr,
                                           arguments.output<float>(0), function_});
  }

 private:
  CudaCompute& compute_;
  std::int64_t elements_;
  Function function_;
};

template <int kInputs, typename Function>
std::unique_ptr<Kernel> make_elementwise_cuda(CudaCompute& compute, std::int64_t elements,
                                              Function function) {
  return std::make_unique<ElementwiseKernelCuda<kInputs, Function>>(compute, elements, function);
}

}  // namespace skyline
