#include "framework/ops/conv2d_kernels.h"
#include "framework/ops/dnnl_weighted.h"

namespace skyline {

namespace {

using dnnl::memory;

// Strides and paddings as oneDNN counts them: height, width.
struct Windows {
  explicit Windows(const Conv2dParams& params)
      : strides{params.stride.height, params.stride.width},
        padding{params.padding.height, params.padding.width} {}
  memory::dims strides;
  memory::dims padding;
};

// Left to the library, weights get a layout that its fast kernels take: with O KH KW C fixed,
// oneDNN 2.6 falls back to a reference kernel at 0.3 GFLOP/s.
dnnl::convolution_forward::primitive_desc describe(const Conv2dProblem& problem) {
  const Windows windows(problem.params);
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const auto kind = dnnl::prop_kind::forward_training;
  const memory::desc x = dnnl_layout(problem.x), y = dnnl_layout(problem.y);
  const memory::desc weight = dnnl_any_layout(problem.weight);
  using Description = dnnl::convolution_forward::desc;
  const Description description =
      problem.bias ? Description(kind, algorithm, x, weight, dnnl_layout(problem.bias_shape()), y,
                                 windows.strides, windows.padding, windows.padding)
                   : Description(kind, algorithm, x, weight, y, windows.strides, windows.padding,
                                 windows.padding);
  return {description, dnnl_user_scratchpad(), dnnl_engine()};
}

dnnl::convolution_backward_data::primitive_desc describe_grad_input(const Conv2dProblem& problem) {
  const Windows windows(problem.params);
  const dnnl::convolution_backward_data::desc description(
      dnnl::algorithm::convolution_direct, dnnl_layout(problem.x), dnnl_any_layout(problem.weight),
      dnnl_layout(problem.y), windows.strides, windows.padding, windows.padding);
  return {description, dnnl_user_scratchpad(), dnnl_engine(), describe(problem)};
}

dnnl::convolution_backward_weights::primitive_desc describe_grad_weight(
    const Conv2dProblem& problem) {
  const Windows windows(problem.params);
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const memory::desc x = dnnl_layout(problem.x), y = dnnl_layout(problem.y);
  const memory::desc weight = dnnl_any_layout(problem.weight);
  using Description = dnnl::convolution_backward_weights::desc;
  const Description description =
      problem.bias
          ? Description(algorithm, x, weight, dnnl_layout(problem.bias_shape()), y, windows.strides,
                        windows.padding, windows.padding)
          : Description(algorithm, x, weight, y, windows.strides, windows.padding, windows.padding);
  return {description, dnnl_user_scratchpad(), dnnl_engine(), describe(problem)};
}

}  // namespace

std::unique_ptr<Kernel> make_conv2d_cpu(const Conv2dProblem& problem) {
  return dnnl_weighted_forward(describe(problem), problem.weight, problem.bias);
}

std::unique_ptr<Kernel> make_conv2d_grad_input_cpu(const Conv2dProblem& problem) {
  return dnnl_weighted_grad_input(describe_grad_input(problem), problem.weight);
}

std::unique_ptr<Kernel> make_conv2d_grad_weight_cpu(const Conv2dProblem& problem) {
  return dnnl_weighted_grad_weight(describe_grad_weight(problem), problem.weight, problem.bias);
}

}  // namespace skyline
