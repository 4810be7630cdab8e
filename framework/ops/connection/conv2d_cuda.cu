#include <algorithm>
#include <functional>

#include "framework/cuda/cublas/product.h"
#include "framework/cuda/cuda_compute.h"
#include "framework/kernel.h"
#include "framework/ops/activation/activations_kernels.h"
#include "framework/ops/array/channels_kernels.h"
#include "framework/ops/connection/conv2d_kernels.h"
#include "framework/ops/connection/convolution_cuda.h"
#include "framework/ops/support/column_sums_cuda.h"
#include "framework/ops/support/divider.h"
#include "framework/ops/support/images_cuda.h"
#include "framework/ops/support/vectors_cuda.h"

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
  // So many bytes of a workspace's limit are for others.
  ProductConvolution(CudaCompute& compute, ConvolutionKind kind, const Conv2dProblem& problem,
                     std::size_t other_bytes = 0)
      : kind_(kind), problem_(product_of(kind, problem)) {
    const CudaOptions& options = compute.options();
    if (const auto& limit = options.workspace_bytes) {
      problem_.most_workspace_bytes = *limit - std::min(*limit, other_bytes);
    }
    use_ = use_spare_bytes(problem_, options);
    product_ = make_product(compute, problem_);
  }

  std::size_t workspace_bytes() const override { return product_workspace_bytes(problem_); }
  bool finishes() const override { return true; }
  std::optional<EngineUse> engine_use() const override { return use_; }

  void run(const ConvolutionOperands& operands) override {
    const bool pixels_first = kind_ == ConvolutionKind::kForward;
    product_->run({.a = pixels_first ? operands.first : operands.second,
                   .b = pixels_first ? operands.second : operands.first,
                   .bias = operands.bias,
                   .c = operands.result,
                   .workspace = operands.workspace});
  }

 private:
  ConvolutionKind kind_;
  ProductProblem problem_;
  std::optional<EngineUse> use_;
  std::unique_ptr<Product> product_;
};

// Writes element `index` of the turned weight [C, O, KH, KW] from the weight [O, C, KH, KW]. Only
// writes are side by side; what is read apart stays in the cache, because weights are small.
struct TurnBody {
  Divider by_outputs, by_window;
  std::int64_t inputs, window;
  const float* weight;
  float* turned;

  __device__ void operator()(std::int64_t index) const {
    const auto [row, output] = by_outputs(index);
    const auto [input, pixel] = by_window(row);
    turned[index] = weight[(output * window + window - 1 - pixel) * inputs + input];
  }
};

class TurnedConvolution final : public Convolution {
 public:
  TurnedConvolution(CudaCompute& compute, const Conv2dProblem& problem)
      : compute_(compute),
        weight_(problem.weight),
        convolution_(make_convolution(compute, ConvolutionKind::kForward, turned(problem))) {
    workspace_.add(convolution_->workspace_bytes());
    turned_ = workspace_.add_floats(weight_.elements());
  }

  std::size_t workspace_bytes() const override { return workspace_.bytes(); }
  std::optional<EngineUse> engine_use() const override {
    std::optional<EngineUse> use = convolution_->engine_use();
    if (use) use->smaller_workspace_bytes = workspace_.bytes() - turned_;
    return use;
  }

  void run(const ConvolutionOperands& operands) override {
    auto* turned = reinterpret_cast<float*>(operands.workspace + turned_);
    const std::int64_t window = weight_[2] * weight_[3];
    for_each_index(
        compute_, weight_.elements(),
        TurnBody{Divider(weight_[0]), Divider(window), weight_[1], window, operands.first, turned});
    convolution_->run({.first = operands.second,
                       .second = turned,
                       .result = operands.result,
                       .workspace = operands.workspace});
  }

 private:
  // Every pixel of x gets the windows that contain it: grad_output is padded to that end.
  static Conv2dProblem turned(const Conv2dProblem& problem) {
    const Shape& weight = problem.weight;
    const Size2d padding = problem.params.padding;
    return {.x = problem.y,
            .weight = {weight[1], weight[0], weight[2], weight[3]},
            .y = problem.x,
            .params = {.padding = {static_cast<int>(weight[2]) - 1 - padding.height,
                                   static_cast<int>(weight[3]) - 1 - padding.width}}};
  }

  CudaCompute& compute_;
  Shape weight_;
  std::unique_ptr<Convolution> convolution_;
  WorkspaceLayout workspace_;
  std::size_t turned_;
};

class SpreadProduct final : public Convolution {
 public:
  SpreadProduct(CudaCompute& compute, const Conv2dProblem& problem) {
    const Shape pixels{problem.x[0], problem.x[1], problem.y[2], problem.y[3]};
    const std::size_t rounding = 2 * 64;  // of two parts
    product_.emplace(
        compute, ConvolutionKind::kGradInput,
        Conv2dProblem{.x = pixels, .weight = problem.weight, .y = problem.y, .params = {}},
        static_cast<std::size_t>(pixels.elements()) * sizeof(float) + rounding);
    spread_ = make_shortcut_grad_cuda(
        compute, {.x = problem.x, .y = pixels, .stride = problem.params.stride.height});
    workspace_.add(product_->workspace_bytes());
    pixels_ = workspace_.add_floats(pixels.elements());
  }

  std::size_t workspace_bytes() const override { return workspace_.bytes(); }
  std::optional<EngineUse> engine_use() const override {
    std::optional<EngineUse> use = product_->engine_use();
    if (use) use->smaller_workspace_bytes = workspace_.bytes() - pixels_;
    return use;
  }

  void run(const ConvolutionOperands& operands) override {
    const std::byte* pixels = operands.workspace + pixels_;
    auto* image = reinterpret_cast<std::byte*>(operands.result);
    product_->run({.first = operands.first,
                   .second = operands.second,
                   .result = reinterpret_cast<float*>(operands.workspace + pixels_),
                   .workspace = operands.workspace});
    spread_->run({.inputs = {&pixels, 1}, .outputs = {&image, 1}});
  }

 private:
  std::optional<ProductConvolution> product_;
  std::unique_ptr<Kernel> spread_;
  WorkspaceLayout workspace_;
  std::size_t pixels_;
};

bool can_turn(const Conv2dProblem& problem) {
  const auto& [stride, padding, groups, relu] = problem.params;
  return stride == Size2d(1) && padding.height < problem.weight[2] &&
         padding.width < problem.weight[3];
}

bool can_spread(const Conv2dProblem& problem) {
  Conv2dProblem dense = problem;
  dense.params.stride = 1;
  return dense.is_product() && problem.params.stride.height == problem.params.stride.width;
}

std::unique_ptr<Convolution> make(CudaCompute& compute, const Conv2dProblem& problem) {
  if (can_turn(problem)) return std::make_unique<TurnedConvolution>(compute, problem);
  if (can_spread(problem)) return std::make_unique<SpreadProduct>(compute, problem);
  return nullptr;
}

std::unique_ptr<Convolution> convolution_of(CudaCompute& compute, ConvolutionKind kind,
                                            const Conv2dProblem& problem) {
  if (problem.is_product()) return std::make_unique<ProductConvolution>(compute, kind, problem);
  if (kind == ConvolutionKind::kGradInput) {
    if (auto convolution = make_grad_input_convolution(compute, problem)) return convolution;
  }
  return make_convolution(compute, kind, problem);
}

// A kernel that tells of its convolution's engine. Both use one workspace, in turn with others.
class ConvolutionKernel final : public Kernel {
 public:
  using Run = std::function<void(const KernelArguments&)>;
  ConvolutionKernel(std::shared_ptr<Convolution> convolution, std::size_t other_workspace_bytes,
                    Run run)
      : convolution_(std::move(convolution)),
        other_workspace_bytes_(other_workspace_bytes),
        run_(std::move(run)) {}
  std::size_t workspace_bytes() const override {
    return std::max(convolution_->workspace_bytes(), other_workspace_bytes_);
  }
  std::optional<EngineUse> engine_use() const override {
    std::optional<EngineUse> use = convolution_->engine_use();
    if (use) {
      use->smaller_workspace_bytes = std::max(use->smaller_workspace_bytes, other_workspace_bytes_);
    }
    return use;
  }
  void run(const KernelArguments& arguments) override { run_(arguments); }

 private:
  std::shared_ptr<Convolution> convolution_;
  std::size_t other_workspace_bytes_;
  Run run_;
};

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
  __device__ Loaded<1, kWidth> read(std::int64_t element) const {
    return {load<kWidth>(y + element)};
  }
  template <int kWidth>
  __device__ void write(const Vector<float, kWidth>& biases, std::int64_t element,
                        const Loaded<1, kWidth>& unit) const {
    auto values = unit.of[0];
    for (int k = 0; k < kWidth; ++k) {
      const float sum = values.at[k] + biases.at[k];
      values.at[k] = relu ? ReluFunction{}(sum) : sum;
    }
    store(y + element, values);
  }
};

}  // namespace

std::unique_ptr<Convolution> make_grad_input_convolution(CudaCompute& compute,
                                                         const Conv2dProblem& problem) {
  const CudaOptions& options = compute.options();
  if (options.tf32 || problem.params.groups != 1) return nullptr;
  auto convolution = make(compute, problem);
  const bool fits = !convolution || !options.workspace_bytes ||
                    convolution->workspace_bytes() <= *options.workspace_bytes;
  return fits ? std::move(convolution) : nullptr;
}

std::unique_ptr<Kernel> make_conv2d_cuda(CudaCompute& compute, const Conv2dProblem& problem) {
  const std::shared_ptr<Convolution> convolution =
      convolution_of(compute, ConvolutionKind::kForward, problem);
  const auto run = [&compute, problem, convolution](const KernelArguments& arguments) {
    const float* bias = problem.bias ? arguments.input<float>(2) : nullptr;
    convolution->run({.first = arguments.input<float>(0),
                      .second = arguments.input<float>(1),
                      .bias = convolution->finishes() ? bias : nullptr,
                      .result = arguments.output<float>(0),
                      .workspace = arguments.workspace});
    if (convolution->finishes() || (!problem.bias && !problem.params.relu)) return;
    const std::int64_t channels = problem.y[1];
    for_each_element(compute, ChannelTiles(problem.y.elements() / channels, channels),
                     Finish{bias, problem.params.relu, arguments.output<float>(0)});
  };
  return std::make_unique<ConvolutionKernel>(convolution, 0, run);
}

std::unique_ptr<Kernel> make_conv2d_grad_input_cuda(CudaCompute& compute,
                                                    const Conv2dProblem& problem) {
  const std::shared_ptr<Convolution> convolution =
      convolution_of(compute, ConvolutionKind::kGradInput, problem);
  return std::make_unique<ConvolutionKernel>(
      convolution, 0, [convolution](const KernelArguments& arguments) {
        convolution->run({.first = arguments.input<float>(0),
                          .second = arguments.input<float>(1),
                          .result = arguments.output<float>(0),
                          .workspace = arguments.workspace});
      });
}

// The convolution and the sums of grad_output over all pixels use one workspace in turn.
std::unique_ptr<Kernel> make_conv2d_grad_weight_cuda(CudaCompute& compute,
                                                     const Conv2dProblem& problem) {
  const std::shared_ptr<Convolution> convolution =
      convolution_of(compute, ConvolutionKind::kGradWeight, problem);
  const ColumnSums sums(problem.y.elements() / problem.y[1], problem.y[1]);
  const auto run = [&compute, convolution, sums,
                    bias = problem.bias](const KernelArguments& arguments) {
    convolution->run({.first = arguments.input<float>(0),
                      .second = arguments.input<float>(1),
                      .result = arguments.output<float>(0),
                      .workspace = arguments.workspace});
    if (!bias) return;
    sums.run(compute, arguments.input<float>(1), arguments.output<float>(1), arguments.workspace);
  };
  const std::size_t sums_bytes = problem.bias ? sums.workspace_bytes() : 0;
  return std::make_unique<ConvolutionKernel>(convolution, sums_bytes, run);
}

}  // namespace skyline
