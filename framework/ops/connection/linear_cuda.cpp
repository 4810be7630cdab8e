#include <algorithm>

#include "framework/cuda/cublas/product.h"
#include "framework/ops/connection/linear_kernels.h"
#include "framework/ops/support/column_sums_cuda.h"

namespace skyline {
namespace {

// One product of inputs `a` and `b`, in the workspace that it asks for, or in a larger one.
auto run_product(CudaCompute& compute, const ProductProblem& problem, std::size_t a,
                 std::size_t b) {
  return [product = std::shared_ptr<Product>(make_product(compute, problem)), bias = problem.bias,
          a, b](const KernelArguments& arguments) {
    product->run({.a = arguments.input<float>(a),
                  .b = arguments.input<float>(b),
                  .bias = bias ? arguments.input<float>(2) : nullptr,
                  .c = arguments.output<float>(0),
                  .workspace = arguments.workspace});
  };
}

}  // namespace

std::unique_ptr<Kernel> make_linear_cuda(CudaCompute& compute, const LinearProblem& problem) {
  const ProductProblem product{.rows = problem.y[0],
                               .columns = problem.y[1],
                               .inner = problem.x[1],
                               .transposed_b = true,
                               .bias = problem.bias};
  return make_kernel(product_workspace_bytes(product), run_product(compute, product, 0, 1));
}

std::unique_ptr<Kernel> make_linear_grad_input_cuda(CudaCompute& compute,
                                                    const LinearProblem& problem) {
  const ProductProblem product{
      .rows = problem.x[0], .columns = problem.x[1], .inner = problem.y[1]};
  return make_kernel(product_workspace_bytes(product), run_product(compute, product, 1, 0));
}

// Computes grad_weight as a product and grad_bias as the sum of grad_output over the batch. Both
// use one workspace in turn.
std::unique_ptr<Kernel> make_linear_grad_weight_cuda(CudaCompute& compute,
                                                     const LinearProblem& problem) {
  const ProductProblem product{.rows = problem.weight[0],
                               .columns = problem.weight[1],
                               .inner = problem.x[0],
                               .transposed_a = true};
  const ColumnSums sums(problem.y[0], problem.y[1]);
  const auto run = [&compute, sums, bias = problem.bias,
                    multiply =
                        run_product(compute, product, 1, 0)](const KernelArguments& arguments) {
    multiply(arguments);
    if (!bias) return;
    sums.run(compute, arguments.input<float>(1), arguments.output<float>(1), arguments.workspace);
  };
  const std::size_t sums_bytes = problem.bias ? sums.workspace_bytes() : 0;
  return make_kernel(std::max(product_workspace_bytes(product), sums_bytes), run);
}

}  // namespace skyline
