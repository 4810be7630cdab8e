#include "framework/ops/activation/sigmoid_kernels.h"
#include "framework/ops/support/elementwise_cpu.h"

namespace skyline {

std::unique_ptr<Kernel> make_sigmoid_cpu(std::int64_t elements) {
  return make_elementwise_cpu<1>(elements, kSerialTranscendental, SigmoidFunction{});
}

std::unique_ptr<Kernel> make_sigmoid_grad_cpu(std::int64_t elements) {
  return make_elementwise_cpu<2>(elements, kSerialArithmetic, SigmoidGradFunction{});
}

}  // namespace skyline
