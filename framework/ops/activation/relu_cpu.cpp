#include "framework/ops/activation/relu_kernels.h"
#include "framework/ops/support/elementwise_cpu.h"

namespace skyline {

std::unique_ptr<Kernel> make_relu_cpu(std::int64_t elements) {
  return make_elementwise_cpu<1>(elements, kSerialArithmetic, ReluFunction{});
}

std::unique_ptr<Kernel> make_relu_grad_cpu(std::int64_t elements) {
  return make_elementwise_cpu<2>(elements, kSerialArithmetic, ReluGradFunction{});
}

}  // namespace skyline
