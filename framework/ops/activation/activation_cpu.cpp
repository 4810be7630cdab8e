// Kernels of relu, sigmoid and tanh: each is one instantiation, so they share a file.

#include "framework/ops/activation/relu_kernels.h"
#include "framework/ops/activation/sigmoid_kernels.h"
#include "framework/ops/activation/tanh_kernels.h"
#include "framework/ops/support/elementwise_cpu.h"

namespace skyline {

std::unique_ptr<Kernel> make_relu_cpu(std::int64_t elements) {
  return make_elementwise_cpu<1>(elements, kSerialArithmetic, ReluFunction{});
}

std::unique_ptr<Kernel> make_relu_grad_cpu(std::int64_t elements) {
  return make_elementwise_cpu<2>(elements, kSerialArithmetic, ReluGradFunction{});
}

std::unique_ptr<Kernel> make_sigmoid_cpu(std::int64_t elements) {
  return make_elementwise_cpu<1>(elements, kSerialTranscendental, SigmoidFunction{});
}

std::unique_ptr<Kernel> make_sigmoid_grad_cpu(std::int64_t elements) {
  return make_elementwise_cpu<2>(elements, kSerialArithmetic, SigmoidGradFunction{});
}

std::unique_ptr<Kernel> make_tanh_cpu(std::int64_t elements) {
  return make_elementwise_cpu<1>(elements, kSerialTranscendental, TanhFunction{});
}

std::unique_ptr<Kernel> make_tanh_grad_cpu(std::int64_t elements) {
  return make_elementwise_cpu<2>(elements, kSerialArithmetic, TanhGradFunction{});
}

}  // namespace skyline
