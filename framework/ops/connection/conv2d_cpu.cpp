#include "framework/ops/connection/conv2d_kernels.h"
#include "framework/ops/support/dnnl_kernel.h"

namespace skyline {

namespace {

using dnnl::memory;

// Strides and paddings as oneDNN expects them: height, width.
struct Windows {
  explicit Windows(const Conv2dParams& params)
      : strides{params.stride.height, params.stride.width},
        padding{params.padding.height, params.padding.width} {}
  memory::dims strides;
  memory::dims padding;
};

// The weight as it is stored, O KH KW C. oneDNN takes groups as an axis of their own, the first.
memory::desc stored_weight(const Conv2dProblem& problem) {
  const Shape& weight = problem.weight;
  const std::int64_t groups = problem.params.groups;
  if (groups == 1) return dnnl_layout(weight);
  return {{groups, weight[0] / groups, weight[1], weight[2], weight[3]},
          memory::data_type::f32,
          memory::format_tag::gohwi};
}

// The library chooses the weights' layout: with a fixed O KH KW C, oneDNN 2.6 falls back to a
// reference kernel at 0.3 GFLOP/s.
memory::desc chosen_weight(const Conv2dProblem& problem) {
  return {stored_weight(problem).dims(), memory::data_type::f32, memory::format_tag::any};
}

dnnl::convolution_forward::primitive_desc describe(const Conv2dProblem& problem) {
  const Windows windows(problem.params);
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const auto kind = dnnl::prop_kind::forward_training;
  const memory::desc x = dnnl_layout(problem.x), y = dnnl_layout(problem.y);
  const memory::desc weight = chosen_weight(problem);
  using Description = dnnl::convolution_forward::desc;
  const Description description =
      problem.bias ? Description(kind, algorithm, x, weight, dnnl_layout(problem.bias_shape()), y,
                                 windows.strides, windows.padding, windows.padding)
                   : Description(kind, algorithm, x, weight, y, windows.strides, windows.padding,
                                 windows.padding);
  dnnl::primitive_attr attributes = dnnl_user_scratchpad();
  if (problem.params.relu) {
    dnnl::post_ops relu;
    relu.append_eltwise(1.0f, dnnl::algorithm::eltwise_relu, 0.0f, 0.0f);
    attributes.set_post_ops(relu);
  }
  return {description, attributes, dnnl_engine()};
}

dnnl::convolution_backward_data::primitive_desc describe_grad_input(const Conv2dProblem& problem) {
  const Windows windows(problem.params);
  const dnnl::convolution_backward_data::desc description(
      dnnl::algorithm::convolution_direct, dnnl_layout(problem.x), chosen_weight(problem),
      dnnl_layout(problem.y), windows.strides, windows.padding, windows.padding);
  return {description, dnnl_user_scratchpad(), dnnl_engine(), describe(problem)};
}

dnnl::convolution_backward_weights::primitive_desc describe_grad_weight(
    const Conv2dProblem& problem) {
  const Windows windows(problem.params);
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const memory::desc x = dnnl_layout(problem.x), y = dnnl_layout(problem.y);
  const memory::desc weight = chosen_weight(problem);
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
  const auto descriptor = describe(problem);
  auto kernel = std::make_unique<DnnlKernel>();
  const auto plain = kernel->input(1, stored_weight(problem));
  std::unordered_map<int, DnnlKernel::Operand> arguments = {
      {DNNL_ARG_WEIGHTS, kernel->reordered(plain, descriptor.weights_desc())},
      {DNNL_ARG_SRC, kernel->input(0, descriptor.src_desc())},
      {DNNL_ARG_DST, kernel->output(0, descriptor.dst_desc())}};
  if (problem.bias) arguments[DNNL_ARG_BIAS] = kernel->input(2, descriptor.bias_desc());
  kernel->call(descriptor, arguments);
  return kernel;
}

std::unique_ptr<Kernel> make_conv2d_grad_input_cpu(const Conv2dProblem& problem) {
  const auto descriptor = describe_grad_input(problem);
  auto kernel = std::make_unique<DnnlKernel>();
  const auto plain = kernel->input(0, stored_weight(problem));
  kernel->call(descriptor, {{DNNL_ARG_WEIGHTS, kernel->reordered(plain, descriptor.weights_desc())},
                            {DNNL_ARG_DIFF_DST, kernel->input(1, descriptor.diff_dst_desc())},
                            {DNNL_ARG_DIFF_SRC, kernel->output(0, descriptor.diff_src_desc())}});
  return kernel;
}

std::unique_ptr<Kernel> make_conv2d_grad_weight_cpu(const Conv2dProblem& problem) {
  const auto descriptor = describe_grad_weight(problem);
  const memory::desc plain = stored_weight(problem);
  auto kernel = std::make_unique<DnnlKernel>();
  const auto grad_weight = kernel->output_as(0, plain, descriptor.diff_weights_desc());
  std::unordered_map<int, DnnlKernel::Operand> arguments = {
      {DNNL_ARG_SRC, kernel->input(0, descriptor.src_desc())},
      {DNNL_ARG_DIFF_DST, kernel->input(1, descriptor.diff_dst_desc())},
      {DNNL_ARG_DIFF_WEIGHTS, grad_weight}};
  if (problem.bias) arguments[DNNL_ARG_DIFF_BIAS] = kernel->output(1, descriptor.diff_bias_desc());
  kernel->call(descriptor, arguments);
  kernel->finish_output(grad_weight, 0, plain);
  return kernel;
}

}  // namespace skyline
