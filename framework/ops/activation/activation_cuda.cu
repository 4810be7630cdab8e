// Kernels of relu, sigmoid and tanh: each is one instantiation, so they share a file.

#include "framework/ops/activation/relu_kernels.h"
#include "framework/ops/activation/sigmoid_kernels.h"
#include "framework/ops/activation/tanh_kernels.h"
#include "framework/ops/support/elementwise_cuda.h"

namespace skyline {

std::unique_ptr<Kernel> make_relu_cuda(CudaCompute& compute, std::int64_t elements) {
  return make_elementwise_cuda<1>(compute, elements, ReluFunction{});
}

std::unique_ptr<Kernel> make_relu_grad_cuda(CudaCompute& compute, std::int64_t elements) {
  return make_elementwise_cuda<2>(compute, elements, ReluGradFunction{});
}

std::unique_ptr<Kernel> make_sigmoid_cuda(CudaCompute& compute, std::int64_t elements) {
  return make_elementwise_cuda<1>(compute, elements, SigmoidFunction{});
}

std::unique_ptr<Kernel> make_sigmoid_grad_cuda(CudaCompute& compute, std::int64_t elements) {
  return make_elementwise_cuda<2>(compute, elements, SigmoidGradFunction{});
}

std::unique_ptr<Kernel> make_tanh_cuda(CudaCompute& compute, std::int64_t elements) {
  return make_elementwise_cuda<1>(compute, elements, TanhFunction{});
}

std::unique_ptr<Kernel> make_tanh_grad_cuda(CudaCompute& compute, std::int64_t elements) {
  return make_elementwise_cuda<2>(compute, elements, TanhGradFunction{});
}

}  // namespace skyline
