#include "framework/ops/connection/product_convolution.h"

#include "framework/cuda/cublas/product.h"
#include "framework/cuda/cuda_compute.h"

namespace skyline {
namespace {

ProductProblem product_of(ConvolutionKind kind, const Conv2dProblem& problem) {
  const std::int64_t in = problem.x[1], out = problem.y[1], pixels = problem.x.elements() / in;
  switch (kind) {
    case ConvolutionKind::kForward:
      return {.rows = pixels,
              .columns = out,
              .inner = in,
              .transposed_b = true,
              .bias = problem.bias,
              .relu = problem.params.relu};
    case ConvolutionKind::kGradInput:
      return {.rows = pixels, .columns = in, .inner = out};
    case ConvolutionKind::kGradWeight:
      break;
  }
  return {.rows = out, .columns = in, .inner = pixels, .transposed_a = true};
}

class ProductConvolution final : public Convolution {
 public:
  ProductConvolution(CudaCompute& compute, ConvolutionKind kind, ProductProblem problem)
      : kind_(kind), problem_(limited(problem, compute.options())) {
    product_ = make_product(compute, problem_);
  }

  std::size_t workspace_bytes() const override { return product_workspace_bytes(problem_); }
  bool finishes() const override { return true; }

  void run(const ConvolutionOperands& operands) override {
    const bool pixels_first = kind_ == ConvolutionKind::kForward;
    product_->run({.a = pixels_first ? operands.first : operands.second,
                   .b = pixels_first ? operands.second : operands.first,
                   .bias = operands.bias,
                   .c = operands.result,
                   .workspace = operands.workspace});
  }

 private:
  static ProductProblem limited(ProductProblem problem, const CudaOptions& options) {
    if (options.workspace_bytes) problem.most_workspace_bytes = *options.workspace_bytes;
    return problem;
  }

  ConvolutionKind kind_;
  ProductProblem problem_;
  std::unique_ptr<Product> product_;
};

}  // namespace

bool is_product(const Conv2dProblem& problem) {
  const Conv2dParams& params = problem.params;
  return problem.weight[2] == 1 && problem.weight[3] == 1 && params.stride == Size2d(1) &&
         params.padding == Size2d(0) && params.groups == 1;
}

std::unique_ptr<Convolution> make_product_convolution(CudaCompute& compute, ConvolutionKind kind,
                                                      const Conv2dProblem& problem) {
  return std::make_unique<ProductConvolution>(compute, kind, product_of(kind, problem));
}

}  // namespace skyline
