#include <algorithm>

#include "framework/ops/activation/relu_kernels.h"
#include "framework/ops/connection/conv2d_kernels.h"
#include "framework/ops/connection/grad_input_convolution.h"
#include "framework/ops/connection/product_convolution.h"
#include "framework/ops/support/channel_tiles_cuda.h"
#include "framework/ops/support/column_sums_cuda.h"

namespace skyline {
namespace {

std::unique_ptr<Convolution> convolution_of(CudaCompute& compute, ConvolutionKind kind,
                                            const Conv2dProblem& problem) {
  if (is_product(problem)) return make_product_convolution(compute, kind, problem);
  if (kind == ConvolutionKind::kGradInput) {
    if (auto convolution = make_grad_input_convolution(compute, problem)) return convolution;
  }
  return make_convolution(compute, kind, problem);
}

// Bias and relu on y in place, for convolutions that do not finish themselves.
struct Finish {
  const float* bias;  // or null
  bool relu;
  float* y;

  template <int kWidth>
  __device__ Vector<float, kWidth> prepare(std::int64_t channel) const {
    return bias == nullptr ? vector_of<kWidth>(0) : load<kWidth>(bias + channel);
  }
  template <int kWidth>
  __device__ void write(const Vector<float, kWidth>& biases, std::int64_t element) const {
    auto values = load<kWidth>(y + element);
    for (int k = 0; k < kWidth; ++k) {
      const float sum = values.at[k] + biases.at[k];
      values.at[k] = relu ? ReluFunction{}(sum) : sum;
    }
    store(y + element, values);
  }
};

class Conv2dKernelCuda final : public Kernel {
 public:
  Conv2dKernelCuda(CudaCompute& compute, const Conv2dProblem& problem)
      : compute_(compute),
        problem_(problem),
        convolution_(convolution_of(compute, ConvolutionKind::kForward, problem)) {}

  std::size_t workspace_bytes() const override { return convolution_->workspace_bytes(); }

  void run(const KernelArguments& arguments) override {
    const float* bias = problem_.bias ? arguments.input<float>(2) : nullptr;
    convolution_->run({.first = arguments.input<float>(0),
                       .second = arguments.input<float>(1),
                       .bias = convolution_->finishes() ? bias : nullptr,
                       .result = arguments.output<float>(0),
                       .workspace = arguments.workspace});
    if (convolution_->finishes() || (!problem_.bias && !problem_.params.relu)) return;
    const std::int64_t channels = problem_.y[1];
    for_each_element(compute_, ChannelTiles(problem_.y.elements() / channels, channels),
                     Finish{bias, problem_.params.relu, arguments.output<float>(0)});
  }

 private:
  CudaCompute& compute_;
  Conv2dProblem problem_;
  std::unique_ptr<Convolution> convolution_;
};

class GradInputKernelCuda final : public Kernel {
 public:
  GradInputKernelCuda(CudaCompute& compute, const Conv2dProblem& problem)
      : convolution_(convolution_of(compute, ConvolutionKind::kGradInput, problem)) {}

  std::size_t workspace_bytes() const override { return convolution_->workspace_bytes(); }

  void run(const KernelArguments& arguments) override {
    convolution_->run({.first = arguments.input<float>(0),
                       .second = arguments.input<float>(1),
                       .result = arguments.output<float>(0),
                       .workspace = arguments.workspace});
  }

 private:
  std::unique_ptr<Convolution> convolution_;
};

// The convolution and the sums of grad_output over all pixels use one workspace in turn.
class GradWeightKernelCuda final : public Kernel {
 public:
  GradWeightKernelCuda(CudaCompute& compute, const Conv2dProblem& problem)
      : compute_(compute),
        bias_(problem.bias),
        convolution_(convolution_of(compute, ConvolutionKind::kGradWeight, problem)),
        sums_(problem.y.elements() / problem.y[1], problem.y[1]) {}

  std::size_t workspace_bytes() const override {
    return std::max(convolution_->workspace_bytes(), bias_ ? sums_.workspace_bytes() : 0);
  }

  void run(const KernelArguments& arguments) override {
    convolution_->run({.first = arguments.input<float>(0),
                       .second = arguments.input<float>(1),
                       .result = arguments.output<float>(0),
                       .workspace = arguments.workspace});
    if (!bias_) return;
    sums_.run(compute_, arguments.input<float>(1), arguments.output<float>(1), arguments.workspace);
  }

 private:
  CudaCompute& compute_;
  bool bias_;
  std::unique_ptr<Convolution> convolution_;
  ColumnSums sums_;
};

}  // namespace

std::unique_ptr<Kernel> make_conv2d_cuda(CudaCompute& compute, const Conv2dProblem& problem) {
  return std::make_unique<Conv2dKernelCuda>(compute, problem);
}

std::unique_ptr<Kernel> make_conv2d_grad_input_cuda(CudaCompute& compute,
                                                    const Conv2dProblem& problem) {
  return std::make_unique<GradInputKernelCuda>(compute, problem);
}

std::unique_ptr<Kernel> make_conv2d_grad_weight_cuda(CudaCompute& compute,
                                                     const Conv2dProblem& problem) {
  return std::make_unique<GradWeightKernelCuda>(compute, problem);
}

}  // namespace skyline
