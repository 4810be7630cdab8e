#include "framework/ops/connection/conv2d_kernels.h"
#include "framework/ops/connection/linear_kernels.h"

namespace skyline {
namespace {

// A dense layer is a convolution of images of one pixel, whose kernels are products.
Conv2dProblem pixels_of(const LinearProblem& problem) {
  const auto images = [](const Shape& matrix) { return Shape{matrix[0], matrix[1], 1, 1}; };
  return {.x = images(problem.x),
          .weight = images(problem.weight),
          .y = images(problem.y),
          .params = {},
          .bias = problem.bias};
}

}  // namespace

std::unique_ptr<Kernel> make_linear_cuda(CudaCompute& compute, const LinearProblem& problem) {
  return make_conv2d_cuda(compute, pixels_of(problem));
}

std::unique_ptr<Kernel> make_linear_grad_input_cuda(CudaCompute& compute,
                                                    const LinearProblem& problem) {
  return make_conv2d_grad_input_cuda(compute, pixels_of(problem));
}

std::unique_ptr<Kernel> make_linear_grad_weight_cuda(CudaCompute& compute,
                                                     const LinearProblem& problem) {
  return make_conv2d_grad_weight_cuda(compute, pixels_of(problem));
}

}  // namespace skyline
