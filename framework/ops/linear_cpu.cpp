#include "framework/ops/dnnl_weighted.h"
#include "framework/ops/linear_kernels.h"

namespace skyline {

namespace {

using dnnl::memory;

// As with convolutions, the library lays out the weights and we reorder.
dnnl::inner_product_forward::primitive_desc describe(const LinearProblem& problem) {
  const auto kind = dnnl::prop_kind::forward_training;
  const memory::desc x = dnnl_layout(problem.x), y = dnnl_layout(problem.y);
  const memory::desc weight = dnnl_any_layout(problem.weight);
  using Description = dnnl::inner_product_forward::desc;
  const Description description =
      problem.bias ? Description(kind, x, weight, dnnl_layout(problem.bias_shape()), y)
                   : Description(kind, x, weight, y);
  return {description, dnnl_user_scratchpad(), dnnl_engine()};
}

dnnl::inner_product_backward_data::primitive_desc describe_grad_input(
    const LinearProblem& problem) {
  const dnnl::inner_product_backward_data::desc description(
      dnnl_layout(problem.x), dnnl_any_layout(problem.weight), dnnl_layout(problem.y));
  return {description, dnnl_user_scratchpad(), dnnl_engine(), describe(problem)};
}

dnnl::inner_product_backward_weights::primitive_desc describe_grad_weight(
    const LinearProblem& problem) {
  const memory::desc x = dnnl_layout(problem.x), y = dnnl_layout(problem.y);
  const memory::desc weight = dnnl_any_layout(problem.weight);
  using Description = dnnl::inner_product_backward_weights::desc;
  const Description description = problem.bias
                                      ? Description(x, weight, dnnl_layout(problem.bias_shape()), y)
                                      : Description(x, weight, y);
  return {description, dnnl_user_scratchpad(), dnnl_engine(), describe(problem)};
}

}  // namespace

std::unique_ptr<Kernel> make_linear_cpu(const LinearProblem& problem) {
  return dnnl_weighted_forward(describe(problem), problem.weight, problem.bias);
}

std::unique_ptr<Kernel> make_linear_grad_input_cpu(const LinearProblem& problem) {
  return dnnl_weighted_grad_input(describe_grad_input(problem), problem.weight);
}

std::unique_ptr<Kernel> make_linear_grad_weight_cpu(const LinearProblem& problem) {
  return dnnl_weighted_grad_weight(describe_grad_weight(problem), problem.weight, problem.bias);
}

}  // namespace skyline
