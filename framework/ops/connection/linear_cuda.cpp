#include <algorithm>

#include "framework/cuda/cublas/product.h"
#include "framework/ops/connection/linear_kernels.h"
#include "framework/ops/support/column_sums_cuda.h"

namespace skyline {
namespace {

// One product of inputs `a` and `b`.
class ProductKernel final : public Kernel {
 public:
  ProductKernel(CudaCompute& compute, const ProductProblem& problem, std::size_t a, std::size_t b)
      : problem_(problem), product_(make_product(compute, problem)), a_(a), b_(b) {}

  std::size_t workspace_bytes() const override { return product_workspace_bytes(problem_); }

  void run(const KernelArguments& arguments) override {
    product_->run({.a = arguments.input<float>(a_),
                   .b = arguments.input<float>(b_),
                   .bias = problem_.bias ? arguments.input<float>(2) : nullptr,
                   .c = arguments.output<float>(0),
                   .workspace = arguments.workspace});
  }

 private:
  ProductProblem problem_;
  std::unique_ptr<Product> product_;
  std::size_t a_, b_;
};

// Computes grad_weight as a product and grad_bias as the sum of grad_output over the batch. Both
// use one workspace in turn.
class GradWeightKernel final : public Kernel {
 public:
  GradWeightKernel(CudaCompute& compute, const LinearProblem& problem)
      : compute_(compute),
        bias_(problem.bias),
        product_(compute,
                 {.rows = problem.weight[0],
                  .columns = problem.weight[1],
                  .inner = problem.x[0],
                  .transposed_a = true},
                 1, 0),
        sums_(problem.y[0], problem.y[1]) {}

  std::size_t workspace_bytes() const override {
    return std::max(product_.workspace_bytes(), bias_ ? sums_.workspace_bytes() : 0);
  }

  void run(const KernelArguments& arguments) override {
    product_.run(arguments);
    if (!bias_) return;
    sums_.run(compute_, arguments.input<float>(1), arguments.output<float>(1), arguments.workspace);
  }

 private:
  CudaCompute& compute_;
  bool bias_;
  ProductKernel product_;
  ColumnSums sums_;
};

}  // namespace

std::unique_ptr<Kernel> make_linear_cuda(CudaCompute& compute, const LinearProblem& problem) {
  const ProductProblem product{.rows = problem.y[0],
                               .columns = problem.y[1],
                               .inner = problem.x[1],
                               .transposed_b = true,
                               .bias = problem.bias};
  return std::make_unique<ProductKernel>(compute, product, 0, 1);
}

std::unique_ptr<Kernel> make_linear_grad_input_cuda(CudaCompute& compute,
                                                    const LinearProblem& problem) {
  const ProductProblem product{
      .rows = problem.x[0], .columns = problem.x[1], .inner = problem.y[1]};
  return std::make_unique<ProductKernel>(compute, product, 1, 0);
}

std::unique_ptr<Kernel> make_linear_grad_weight_cuda(CudaCompute& compute,
                                                     const LinearProblem& problem) {
  return std::make_unique<GradWeightKernel>(compute, problem);
}

}  // namespace skyline
