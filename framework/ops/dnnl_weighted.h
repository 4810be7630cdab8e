#pragma once

#include <memory>
#include <unordered_map>

#include "framework/ops/dnnl_kernel.h"

namespace skyline {

// The programs that convolutions and fully connected products share: both have x, weight and bias
// in the same roles, and both let the library choose the layout of the weight.

// Inputs x, weight and, with bias, bias; output y.
template <typename Descriptor>
std::unique_ptr<Kernel> dnnl_weighted_forward(const Descriptor& descriptor, const Shape& weight,
                                              bool bias) {
  auto kernel = std::make_unique<DnnlKernel>();
  const auto plain = kernel->input(1, dnnl_layout(weight));
  std::unordered_map<int, DnnlKernel::Operand> arguments = {
      {DNNL_ARG_WEIGHTS, kernel->reordered(plain, descriptor.weights_desc())},
      {DNNL_ARG_SRC, kernel->input(0, descriptor.src_desc())},
      {DNNL_ARG_DST, kernel->output(0, descriptor.dst_desc())}};
  if (bias) arguments[DNNL_ARG_BIAS] = kernel->input(2, descriptor.bias_desc());
  kernel->call(descriptor, arguments);
  return kernel;
}

// Inputs weight, grad_output; output grad_input.
template <typename Descriptor>
std::unique_ptr<Kernel> dnnl_weighted_grad_input(const Descriptor& descriptor,
                                                 const Shape& weight) {
  auto kernel = std::make_unique<DnnlKernel>();
  const auto plain = kernel->input(0, dnnl_layout(weight));
  kernel->call(descriptor, {{DNNL_ARG_WEIGHTS, kernel->reordered(plain, descriptor.weights_desc())},
                            {DNNL_ARG_DIFF_DST, kernel->input(1, descriptor.diff_dst_desc())},
                            {DNNL_ARG_DIFF_SRC, kernel->output(0, descriptor.diff_src_desc())}});
  return kernel;
}

// Inputs x, grad_output; outputs grad_weight and, with bias, grad_bias.
template <typename Descriptor>
std::unique_ptr<Kernel> dnnl_weighted_grad_weight(const Descriptor& descriptor, const Shape& weight,
                                                  bool bias) {
  const dnnl::memory::desc plain = dnnl_layout(weight);
  auto kernel = std::make_unique<DnnlKernel>();
  const auto grad_weight = kernel->output_as(0, plain, descriptor.diff_weights_desc());
  std::unordered_map<int, DnnlKernel::Operand> arguments = {
      {DNNL_ARG_SRC, kernel->input(0, descriptor.src_desc())},
      {DNNL_ARG_DIFF_DST, kernel->input(1, descriptor.diff_dst_desc())},
      {DNNL_ARG_DIFF_WEIGHTS, grad_weight}};
  if (bias) arguments[DNNL_ARG_DIFF_BIAS] = kernel->output(1, descriptor.diff_bias_desc());
  kernel->call(descriptor, arguments);
  kernel->finish_output(grad_weight, 0, plain);
  return kernel;
}

}  // namespace skyline
